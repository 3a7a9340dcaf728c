"""Find the entries that ``MEMORY_PLACES`` hides, and move them to the provider where it looks for them.

An entry is hidden if another provider has it than the one that the setting names for its scope. Quarantined entries stay
in PostgreSQL, because nothing recalls them, and other providers have no quarantine.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Count, Q
from django.utils import timezone

from accounts import audit
from accounts.models import Team
from accounts.request_transaction import pausable_tenant
from accounts.tenancy import tenant
from memory.core.errors import MemoryFault
from memory.core.provider import NamespaceStore
from memory.core.records import MemoryEntry, MemoryQuery, Tier
from memory.logic.entries.write_batch import build_restore_params, find_entry
from memory.models import Entry, Namespace
from memory.providers.postgres import PostgresProvider
from memory.routing import DEFAULT, find_place, list_ruled_scopes, open_provider


ACTOR: Final = "memory_move"


@dataclass(frozen=True, slots=True)
class MisplacedNamespace:
    """A namespace whose entries are in one provider while they are looked for in another.

    ``count`` is None if the provider that has the entries can't be asked.
    """

    row: Namespace
    provider: str
    expected: str
    count: int | None


def list_hidden_namespaces() -> list[MisplacedNamespace]:
    """Return the hidden namespaces of all teams. A provider in which one is empty is forgotten."""
    with pausable_tenant(Team.objects.values_list("pk", flat=True)):
        return [*_list_hidden_in_postgres(), *_list_hidden_elsewhere()]


def move_namespace(namespace: MisplacedNamespace) -> int:
    """Move the entries to where they are looked for, and return their number. It can be repeated if it fails.

    An entry that is there already and newer stays. Each entry is stored anew: its history stays behind.
    """
    text = namespace.row.text
    source = _open_store(namespace.provider, namespace.row.team_id)
    target = _open_store(namespace.expected, namespace.row.team_id)
    keys = _copy(source, target, text)
    for key in keys:  # not before all of them are there
        source.delete(text, key)
    _save_place(namespace, len(keys))
    return len(keys)


def give_up_namespace(namespace: MisplacedNamespace) -> None:
    """Look no longer for the entries that another provider has. They aren't deleted there."""
    _save_place(namespace, 0)


def _list_hidden_in_postgres() -> Iterator[MisplacedNamespace]:
    if not (scopes := list_ruled_scopes()):
        return
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    visible = Entry.objects.unscoped().filter(
        unexpired, deleted_at=None, namespace__scope__in=scopes
    )
    visible = visible.exclude(tier=Tier.QUARANTINE).order_by()
    groups = visible.values("namespace_id").annotate(count=Count("id"))
    counts = {group["namespace_id"]: group["count"] for group in groups}
    for row in Namespace.objects.unscoped().filter(pk__in=counts).order_by("text", "id"):
        if (expected := find_place(row.team_id, row.scope)) != DEFAULT:
            yield MisplacedNamespace(row, DEFAULT, expected, counts[row.pk])


def _list_hidden_elsewhere() -> Iterator[MisplacedNamespace]:
    # They are all read first, because the provider is asked between two transactions.
    for row in list(Namespace.objects.unscoped().exclude(kept_in="").order_by("text", "id")):
        expected = find_place(row.team_id, row.scope)
        if expected == row.kept_in:
            continue
        count = _count_elsewhere(row)
        if count == 0:
            Namespace.objects.unscoped().filter(pk=row.pk).update(kept_in="")
        else:
            yield MisplacedNamespace(row, row.kept_in, expected, count)


def _count_elsewhere(row: Namespace) -> int | None:
    try:
        return open_provider(row.kept_in, row.team_id).measure(row.text).entries
    except (ImproperlyConfigured, MemoryFault):
        return None


def _open_store(name: str, team_id: UUID) -> NamespaceStore:
    return (
        PostgresProvider(team_id, actor=ACTOR) if name == DEFAULT else open_provider(name, team_id)
    )


def _copy(source: NamespaceStore, target: NamespaceStore, text: str) -> list[str]:
    """Store the entries in the target, the oldest first, and return their keys."""
    now, keys = timezone.now(), []
    for entry in reversed(source.recall(MemoryQuery(text, include_former=True))):
        params, present = build_restore_params(entry, now), find_entry(target, text, entry.key)
        is_over = params.ttl_seconds is not None and params.ttl_seconds <= 0
        if not is_over and not _is_newer(present, entry):
            target.store(params)
        keys.append(entry.key)
    return keys


def _is_newer(present: MemoryEntry | None, entry: MemoryEntry) -> bool:
    if present is None or present.updated_at is None or entry.updated_at is None:
        return False
    return present.updated_at > entry.updated_at


def _save_place(namespace: MisplacedNamespace, count: int) -> None:
    """Record where the namespace is from now on, in its row and in the audit log."""
    row = namespace.row
    kept_in = "" if namespace.expected == DEFAULT else namespace.expected
    with tenant([row.team_id]):
        Namespace.objects.unscoped().filter(pk=row.pk).update(kept_in=kept_in)
        audit.record(
            team_id=row.team_id,
            actor=ACTOR,
            actor_kind="system",
            action="memory.moved",
            subject=row.text,
            detail={"keys": count, "from": namespace.provider, "to": namespace.expected},
        )
