"""Read namespaces, entries and changes for pages and the API, limited to what the principal may see."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, Exists, F, OuterRef, Q, Sum, When
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Membership, User
from accounts.principals import Principal
from memory import permissions
from memory.core.errors import NotFound
from memory.models import Change, Entry, Namespace, Read, Revision
from memory.models.entries import Operation
from memory.models.namespaces import ScopeChoice
from memory.providers.postgres.newest import fetch_newest


MAX_READS = 50

# These scopes have many namespaces, and people usually need the newest.
TRANSIENT_SCOPES = (ScopeChoice.CONVERSATION, ScopeChoice.RUN)


def list_fullest_namespaces(
    principal: Principal, team_id: UUID, *, limit: int
) -> Sequence[Namespace]:
    """Return the namespaces with the most entries, ordered by scope and then by the number of entries."""
    rows = Namespace.objects.visible_to(principal).filter(team_id=team_id)
    filled = rows.filter(Q(entry_count__gt=0) | Q(byte_count__gt=0)).order_by("-entry_count", "id")
    return sorted(filled[:limit], key=lambda row: (row.scope, -row.entry_count, row.text))


def list_namespaces_by_text(
    principal: Principal, team_id: UUID, texts: Collection[str]
) -> Sequence[Namespace]:
    rows = Namespace.objects.visible_to(principal).filter(team_id=team_id, text__in=texts)
    return list(rows.order_by("scope", "-entry_count", "text", "id"))


def find_namespace(principal: Principal, team_id: UUID, namespace_id: UUID) -> Namespace:
    """Return the namespace. Emergency access suffices, and a read under it is audited."""
    manager: Any = Namespace.objects  # Any: the manager types its model, not its queryset
    row: Namespace | None
    row = manager.open_to(principal).filter(team_id=team_id, pk=namespace_id).first()
    if row is None:
        raise NotFound(_("Namespace not found."))
    permissions.record_emergency_read(principal, permissions.build_target(row))
    return row


def find_member(principal: Principal, team_id: UUID, user_id: UUID) -> User:
    """Return the member of the team. Raise NotFound if the principal may not see them."""
    rows = Membership.objects.visible_to(principal).filter(team_id=team_id, user_id=user_id)
    row = rows.select_related("user").first()
    if row is None:
        raise NotFound(_("Member not found."))
    return row.user


def find_entry(principal: Principal, team_id: UUID, entry_id: UUID) -> Entry:
    """Return the entry, even if it is forgotten. Emergency access suffices, and a read under it is audited."""
    manager: Any = Entry.objects  # as above
    rows = manager.open_to(principal).filter(team_id=team_id, pk=entry_id)
    row: Entry | None = rows.select_related("namespace").first()
    if row is None:
        raise NotFound(_("Memory not found."))
    target = permissions.build_target(row.namespace)
    permissions.record_emergency_read(principal, target, entry=str(row.pk))
    return row


def find_entries(
    principal: Principal, team_id: UUID, entry_ids: Collection[UUID]
) -> Mapping[str, Entry]:
    """Return those of the entries that the principal may see, forgotten or not, by id."""
    manager: Any = Entry.objects  # as above
    rows = manager.open_to(principal).filter(team_id=team_id, pk__in=entry_ids)
    return {str(row.pk): row for row in rows}


def list_newest_entries(
    principal: Principal,
    team_id: UUID,
    limit: int = 50,
    *,
    scope: str = "",
    tier: str = "",
    category: str = "",
) -> Sequence[Entry]:
    """Return the newest entries that the principal may view, each with its namespace: all, or those that match."""
    namespaces = Namespace.objects.visible_to(principal).filter(team_id=team_id, entry_count__gt=0)
    if scope:
        namespaces = namespaces.filter(scope=scope)
    if not tier and not category:
        return fetch_newest(namespaces, team_id, timezone.now(), limit)
    matches = {"tier": tier, "category": category}
    manager: Any = Entry.objects  # Any: the manager types its model, not its queryset
    entries = manager.living().filter(team_id=team_id, namespace__in=namespaces.order_by())
    entries = entries.filter(**{name: value for name, value in matches.items() if value})
    return list(entries.select_related("namespace").order_by("-updated_at", "-id")[:limit])


@dataclass(frozen=True, slots=True)
class ScopeTotal:
    scope: str
    namespaces: int
    entries: int
    size: int


def list_scope_totals(principal: Principal, team_id: UUID) -> Sequence[ScopeTotal]:
    """Return the numbers of namespaces, entries and bytes that the principal may see, by scope."""
    namespaces = Namespace.objects.visible_to(principal).filter(team_id=team_id).order_by()
    counts = (Count("id"), Sum("entry_count"), Sum("byte_count"))
    totals = namespaces.values_list("scope").annotate(*counts)
    return [ScopeTotal(*row) for row in totals.order_by("scope")]


def list_namespace_page(
    principal: Principal, team_id: UUID, *, scopes: Sequence[str], limit: int, offset: int
) -> Sequence[Namespace]:
    """Return namespaces by scope: the principal's own, then the fullest or, in ``TRANSIENT_SCOPES``, the newest."""
    namespaces = Namespace.objects.visible_to(principal).filter(team_id=team_id, scope__in=scopes)
    ranks = (When(scope=scope, then=rank) for rank, scope in enumerate(scopes))
    rows = namespaces.alias(
        scope_rank=Case(*ranks, default=len(scopes)),
        owner_rank=Case(When(owner_user=principal.user_id, then=0), default=1),
        size=Case(When(scope__in=TRANSIENT_SCOPES, then=0), default=F("entry_count")),
        started=Case(When(scope__in=TRANSIENT_SCOPES, then=F("created_at"))),
    )
    ordered = rows.order_by("scope_rank", "owner_rank", "-size", "-started", "text", "id")
    return list(ordered[offset : offset + limit])


def find_change(principal: Principal, team_id: UUID, change_id: UUID) -> Change:
    rows = Change.objects.visible_to(principal).filter(team_id=team_id, pk=change_id)
    row = rows.select_related("namespace").first()
    if row is None:
        raise NotFound(_("Change not found."))
    return row


def list_reads(entry: Entry) -> Sequence[Read]:
    """Return the reads of the entry by runs, newest first. The caller has checked the permission."""
    return list(Read.objects.unscoped().filter(entry=entry).order_by("-at", "-id")[:MAX_READS])


def list_categories(namespace: Namespace) -> Sequence[str]:
    rows = Entry.objects.unscoped().filter(namespace=namespace, deleted_at=None)
    return list(rows.order_by("category").values_list("category", flat=True).distinct())


def list_actors(namespace: Namespace) -> Sequence[str]:
    """Return the actors that wrote the living entries."""
    rows = Entry.objects.unscoped().filter(namespace=namespace, deleted_at=None)
    signed_rows = rows.exclude(source_actor="").order_by("source_actor")
    return list(signed_rows.values_list("source_actor", flat=True).distinct())


def has_undone_forgetting(principal: Principal) -> bool:
    """Return whether the principal restored an entry that was forgotten, wherever they did it."""
    revisions = Revision.objects.unscoped()
    forgotten = revisions.filter(
        entry=OuterRef("entry"), number=OuterRef("number") - 1, operation=Operation.FORGET
    )
    restored = revisions.filter(operation=Operation.RESTORE, actor=principal.actor)
    return restored.filter(Exists(forgotten)).exists()
