"""Reads for pages and the API, already cut to what the asker may see: finding and admitting are one call."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, Q, Sum, When
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Membership, User
from accounts.principals import Principal
from memory import permissions
from memory.core.errors import NotFound
from memory.models import Change, Entry, Namespace, Read, Revision
from memory.models.namespaces import ScopeChoice
from memory.providers.postgres.newest import newest


# There are many of these, and people look for the last.
PASSING = (ScopeChoice.CONVERSATION, ScopeChoice.RUN)


def filled_namespaces_for(
    principal: Principal, team_id: UUID, *, limit: int
) -> Sequence[Namespace]:
    """The fullest, in the order of namespaces."""
    rows = Namespace.objects.visible_to(principal).filter(team_id=team_id)
    found = rows.filter(Q(entry_count__gt=0) | Q(byte_count__gt=0)).order_by("-entry_count", "id")
    return sorted(found[:limit], key=lambda row: (row.scope, -row.entry_count, row.text))


def namespaces_called(
    principal: Principal, team_id: UUID, texts: Collection[str]
) -> Sequence[Namespace]:
    rows = Namespace.objects.visible_to(principal).filter(team_id=team_id, text__in=texts)
    return list(rows.order_by("scope", "-entry_count", "text", "id"))


def namespace_for(principal: Principal, team_id: UUID, namespace_id: UUID) -> Namespace:
    """Found by emergency access too, which is written down."""
    found: Any = Namespace.objects  # Any: the manager types its model, not its queryset
    row: Namespace | None
    row = found.open_to(principal).filter(team_id=team_id, pk=namespace_id).first()
    if row is None:
        raise NotFound(_("Namespace not found."))
    permissions.record_emergency_read(principal, permissions.build_target(row))
    return row


def member_for(principal: Principal, team_id: UUID, user_id: UUID) -> User:
    """Whom a namespace can be shared with."""
    rows = Membership.objects.visible_to(principal).filter(team_id=team_id, user_id=user_id)
    row = rows.select_related("user").first()
    if row is None:
        raise NotFound(_("Member not found."))
    return row.user


def entry_for(principal: Principal, team_id: UUID, entry_id: UUID) -> Entry:
    """Forgotten ones too: their page is where they are restored. By emergency access as well."""
    found: Any = Entry.objects  # as above
    rows = found.open_to(principal).filter(team_id=team_id, pk=entry_id)
    row: Entry | None = rows.select_related("namespace").first()
    if row is None:
        raise NotFound(_("Memory not found."))
    permissions.record_emergency_read(
        principal, permissions.build_target(row.namespace), entry=str(row.pk)
    )
    return row


def newest_for(principal: Principal, team_id: UUID, limit: int = 50) -> Sequence[Entry]:
    """What was remembered last, in any namespace the asker may look into; each with its namespace."""
    seen = Namespace.objects.visible_to(principal).filter(team_id=team_id, entry_count__gt=0)
    return newest(seen, team_id, timezone.now(), limit)


@dataclass(frozen=True, slots=True)
class ScopeTotal:
    scope: str
    namespaces: int
    entries: int
    size: int


def totals_for(principal: Principal, team_id: UUID) -> Sequence[ScopeTotal]:
    """What there is to see, by scope."""
    seen = Namespace.objects.visible_to(principal).filter(team_id=team_id).order_by()
    counted = seen.values_list("scope").annotate(Count("id"), Sum("entry_count"), Sum("byte_count"))
    return [ScopeTotal(*row) for row in counted.order_by("scope")]


def namespace_page_for(
    principal: Principal,
    team_id: UUID,
    *,
    scopes: Sequence[str],
    limit: int,
    offset: int,
) -> Sequence[Namespace]:
    """In the order of ``scopes``, in each one's own first; then the fullest, of what passes the newest."""
    seen = Namespace.objects.visible_to(principal).filter(team_id=team_id, scope__in=scopes)
    place = Case(*(When(scope=one, then=at) for at, one in enumerate(scopes)), default=len(scopes))
    own = Case(When(owner_user=principal.user_id, then=0), default=1)
    full = Case(When(scope__in=PASSING, then=0), default=F("entry_count"))
    begun = Case(When(scope__in=PASSING, then=F("created_at")))
    rows = seen.alias(place=place, own=own, full=full, begun=begun)
    ordered = rows.order_by("place", "own", "-full", "-begun", "text", "id")
    return list(ordered[offset : offset + limit])


def change_for(principal: Principal, team_id: UUID, change_id: UUID) -> Change:
    rows = Change.objects.visible_to(principal).filter(team_id=team_id, pk=change_id)
    row = rows.select_related("namespace").first()
    if row is None:
        raise NotFound(_("Change not found."))
    return row


def revisions_of(entry: Entry) -> Sequence[Revision]:
    return list(Revision.objects.unscoped().filter(entry=entry).order_by("-number"))


def reads_of(entry: Entry, limit: int = 50) -> Sequence[Read]:
    """Runs that recalled it, newest first."""
    return list(Read.objects.unscoped().filter(entry=entry).order_by("-at", "-id")[:limit])


def reads_in_run(principal: Principal, team_id: UUID, run_id: str) -> Sequence[Read]:
    """What a run recalled, as far as the asker may see it."""
    rows = Read.objects.visible_to(principal).filter(team_id=team_id, run_id=run_id)
    return list(rows.select_related("entry__namespace").order_by("at", "id"))


def written_in_run(principal: Principal, team_id: UUID, run_id: str) -> Sequence[Revision]:
    """What a run wrote, each write a revision."""
    rows = Revision.objects.visible_to(principal).filter(team_id=team_id, run_id=run_id)
    return list(rows.select_related("entry__namespace").order_by("at", "id"))


def categories_in(namespace: Namespace) -> Sequence[str]:
    rows = Entry.objects.unscoped().filter(namespace=namespace, deleted_at=None)
    return list(rows.order_by("category").values_list("category", flat=True).distinct())


def actors_in(namespace: Namespace) -> Sequence[str]:
    """Who wrote what is there."""
    rows = Entry.objects.unscoped().filter(namespace=namespace, deleted_at=None)
    found = rows.exclude(source_actor="").order_by("source_actor")
    return list(found.values_list("source_actor", flat=True).distinct())
