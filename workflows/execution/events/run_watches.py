"""Checks whether those who follow runs still may see them, for all streams of a web process together."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple
from uuid import UUID

from accounts.principals import KeyPrincipal, Principal
from accounts.services.holders import Holder, load_principals
from accounts.tenancy import tenant
from workflows import permissions
from workflows.models import PageAccess, PublicPage, Run


# What a stream needs to know of its run. The values of a run may be large.
FOLLOWED_FIELDS: Final = (
    *("id", "team_id", "workflow_id", "status", "last_seq", "subject", "subject_user_id"),
    *("started_by_id", "api_key_id", "snapshot_id"),
    *("api_key__created_by_id", "api_key__service_account_id"),
)


class RunWatch(NamedTuple):
    """A run, and who follows it."""

    team_id: UUID
    run_id: UUID
    holder: Holder


def list_admitted(watches: Collection[RunWatch]) -> frozenset[RunWatch]:
    """Return the watches that the present permissions and sessions still allow."""
    with tenant({watch.team_id for watch in watches}):
        principals = load_principals({watch.holder for watch in watches})
        closed_keys = _list_keys_of_closed_pages(principals.values())
        rows = Run.objects.unscoped().filter(pk__in={watch.run_id for watch in watches})
        runs = {run.pk: run for run in rows.select_related("api_key").only(*FOLLOWED_FIELDS)}
        return frozenset(
            watch
            for watch in watches
            if (principal := principals.get(watch.holder))
            and watch.holder.key_id not in closed_keys
            and (run := runs.get(watch.run_id))
            and permissions.may_view_run(principal, run)
        )


def _list_keys_of_closed_pages(principals: Iterable[Principal]) -> set[UUID]:
    """Return the keys with which public pages act that visitors can't open any more: they are off, or for members only."""
    keys = {
        principal.key.pk
        for principal in principals
        if isinstance(principal, KeyPrincipal) and principal.key.is_of_page
    }
    if not keys:
        return keys
    pages = PublicPage.objects.unscoped().filter(
        api_key__in=keys, access__in=(PageAccess.LINK, PageAccess.PASSWORD)
    )
    return keys - set(pages.values_list("api_key_id", flat=True))
