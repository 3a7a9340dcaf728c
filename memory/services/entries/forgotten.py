"""Load what became of entries that runs forgot or ended, or asked a person to choose from, for a person who may undo it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from accounts.tenancy import tenant
from memory.logic.entries.texts import join_texts
from memory.logic.judgement.window import FactState
from memory.logic.text_diff import render_value
from memory.models import Entry, Namespace, Revision
from memory.models.entries import Operation
from memory.permissions import build_target, is_allowed
from memory.services.gateway.caller import MemoryCaller


@dataclass(frozen=True, slots=True)
class ForgettableEntry:
    """An entry that the caller may forget, with its state now. ``step`` is the run and the node that forgot it, if any."""

    id: UUID
    text: str
    is_forgotten: bool
    is_former: bool  # what it says no longer holds
    step: tuple[str, str] | None = None


def load_forgettable(
    caller: MemoryCaller,
    *,
    entry_ids: Collection[UUID] = (),
    steps: Collection[tuple[str, str]] = (),
) -> list[ForgettableEntry]:
    """Return the entries with these ids, and those that these steps of runs forgot, as far as the caller may forget them.

    What a step forgot comes with its step, once for each; the others come without one.
    """
    with tenant([caller.team_id]):
        forgotten = _list_forgotten(caller, steps)
        ids = {entry_id for _step, entry_id in forgotten}.union(entry_ids)
        entries = _load_allowed(caller, ids)
    pairs = [*forgotten, *((None, entry_id) for entry_id in dict.fromkeys(entry_ids))]
    return [_build(entries[entry_id], step) for step, entry_id in pairs if entry_id in entries]


def load_states(team_id: UUID, ids: Iterable[str]) -> dict[str, FactState]:
    """Return by id what the entries say now that are neither forgotten nor expired.

    It only serves to leave text out that the caller has already. Ids of entries that aren't in the database are unknown.
    """
    with tenant([team_id]):
        rows = Entry.objects.unscoped().filter(
            Q(expires_at=None) | Q(expires_at__gt=timezone.now()),
            team_id=team_id,
            pk__in=[*ids],
            deleted_at=None,
        )
        values = [*rows.values_list("pk", "value", "valid_until")]
    return {str(pk): FactState(join_texts(value), until) for pk, value, until in values}


def _list_forgotten(
    caller: MemoryCaller, steps: Collection[tuple[str, str]]
) -> list[tuple[tuple[str, str], UUID]]:
    if not steps:
        return []
    condition = Q()
    for run_id, node_id in steps:
        condition |= Q(run_id=run_id, node_id=node_id)
    revisions = Revision.objects.unscoped().filter(
        condition, team_id=caller.team_id, operation=Operation.FORGET
    )
    rows = revisions.order_by("at", "entry_id").values_list("run_id", "node_id", "entry_id")
    return [*dict.fromkeys(((run_id, node_id), entry_id) for run_id, node_id, entry_id in rows)]


def _load_allowed(caller: MemoryCaller, ids: Collection[UUID]) -> dict[UUID, Entry]:
    rows = Entry.objects.unscoped().filter(team_id=caller.team_id, pk__in=ids) if ids else ()
    entries = {row.pk: row for row in rows}
    namespace_ids = {row.namespace_id for row in entries.values()}
    namespaces = Namespace.objects.unscoped().filter(pk__in=namespace_ids) if entries else ()
    allowed = {
        row.pk for row in namespaces if is_allowed(caller.principal, "forget", build_target(row))
    }
    return {pk: row for pk, row in entries.items() if row.namespace_id in allowed}


def _build(row: Entry, step: tuple[str, str] | None) -> ForgettableEntry:
    is_former = row.valid_until is not None and row.valid_until <= timezone.now()
    text = " ".join(render_value(row.value).split())
    return ForgettableEntry(row.pk, text, row.is_forgotten, is_former, step)
