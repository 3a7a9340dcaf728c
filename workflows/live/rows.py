"""What the rows say of the drafts that are watched: one look for all tabs of a web process.

The bus only says when to look sooner. Whether each tab may still watch is part of every look.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Max, Q
from django.utils import timezone

from accounts.access import UserPrincipal
from accounts.models import Membership, User
from accounts.roles import Role
from accounts.tenancy import tenant
from workflows import permissions
from workflows.models import Comment, Run, Workflow


ENDED_LATELY = timedelta(seconds=30)
UNFINISHED = ("queued", "running", "paused")

Watch = tuple[UUID, UUID, str]  # workflow, person, session


@dataclass(frozen=True, slots=True)
class Look:
    revisions: dict[UUID, int] = field(default_factory=dict)
    comments: dict[UUID, str] = field(default_factory=dict)  # changes when a comment does
    admitted: frozenset[Watch] = frozenset()
    runs: tuple["Running", ...] = ()


@dataclass(frozen=True, slots=True)
class Running:
    """A run, and the people whose business it is."""

    id: str
    workflow_id: UUID
    status: str
    people: frozenset[UUID | None]


def look(team_ids: Collection[UUID], watches: Collection[Watch]) -> Look:
    drafts = {workflow_id for workflow_id, _user, _session in watches}
    with tenant(team_ids):
        found = {
            row.pk: row
            for row in Workflow.objects.unscoped().filter(pk__in=drafts, archived_at=None)
        }
        return Look(
            revisions={pk: row.revision for pk, row in found.items()},
            comments=_marks(found),
            admitted=_admitted(found, watches),
            runs=_runs(found),
        )


def _marks(found: Collection[UUID]) -> dict[UUID, str]:
    rows = (
        Comment.objects.unscoped()
        .filter(workflow_id__in=found)
        .values("workflow_id")
        .annotate(count=Count("pk"), last=Max("changed_at"))
        .order_by("workflow_id")
    )
    return {row["workflow_id"]: f"{row['count']}:{row['last'].timestamp()}" for row in rows}


def _admitted(found: dict[UUID, Workflow], watches: Collection[Watch]) -> frozenset[Watch]:
    """Asked of ``permissions``, as everywhere, with the roles people have now."""
    people = {user_id for _workflow, user_id, _session in watches}
    users = {user.pk: user for user in User.objects.filter(pk__in=people, is_active=True)}
    roles: dict[UUID, dict[UUID, Role]] = {}
    members = Membership.objects.unscoped().filter(user_id__in=people)
    for user_id, team_id, role in members.values_list("user_id", "team_id", "role"):
        roles.setdefault(user_id, {})[team_id] = Role(role)
    open_sessions = _open_sessions({session for _workflow, _user, session in watches if session})

    def may(watch: Watch) -> bool:
        workflow_id, user_id, session = watch
        if workflow_id not in found or user_id not in users:
            return False
        principal = UserPrincipal(users[user_id], roles.get(user_id, {}))
        is_in = not session or session in open_sessions
        return is_in and permissions.may_view(principal, found[workflow_id])

    return frozenset(watch for watch in watches if may(watch))


def _open_sessions(keys: set[str]) -> set[str]:
    """Who signed out, in whatever tab, hears no more."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    if not hasattr(store, "get_model_class"):  # not in the database: asked one by one
        return {key for key in keys if store().exists(key)}
    rows = store.get_model_class().objects.filter(pk__in=keys, expire_date__gt=timezone.now())
    return set(rows.values_list("pk", flat=True))


def _runs(found: Collection[UUID]) -> tuple[Running, ...]:
    lately = timezone.now() - ENDED_LATELY
    rows = (
        Run.objects.unscoped()
        .filter(workflow_id__in=found)
        .filter(Q(status__in=UNFINISHED) | Q(finished_at__gt=lately))
        .order_by("created_at", "id")
        .values_list(
            "pk",
            "workflow_id",
            "status",
            "started_by_id",
            "subject_user_id",
            "api_key__created_by_id",
        )[:500]
    )
    return tuple(
        Running(str(pk), workflow_id, status, frozenset(people))
        for pk, workflow_id, status, *people in rows
    )
