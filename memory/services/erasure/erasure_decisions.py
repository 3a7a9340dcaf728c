"""Decide about shared memories of erased persons in which others have words, too.

An erasure can't tell whose words are whose, so these memories stay until somebody who may forget them decides: they are
erased with their history, for good, or they are kept, which can be reopened. Who was erased isn't told to those who
don't see the receipt.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory import permissions
from memory.core.errors import AlreadyExists, NotFound
from memory.models import Entry, Erasure
from memory.models.jobs import JobStatus
from memory.services.erasure.erase_sources import erase_entries
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.gateway.gateway import open_namespace


class Decision(StrEnum):
    """What becomes of a memory with words of an erased person and of others."""

    ERASE = "erase"  # with its history, for good
    KEEP = "keep"  # as it is
    REOPEN = "reopen"  # it was kept, and is to be decided about again


@dataclass(frozen=True, slots=True)
class DecisionState:
    """A memory of which an erasure left the decision to a person. ``decision`` is empty as long as nobody has decided."""

    erasure_id: UUID
    entry_id: UUID
    erased_at: datetime
    decision: str = ""
    decided_by: str = ""
    decided_at: datetime | None = None
    entry: Entry | None = None  # None if it is gone
    may_decide: bool = False


def list_pending_decisions(caller: MemoryCaller) -> list[DecisionState]:
    """Return the undecided memories that the caller sees and may forget, of whichever erasure, the oldest first."""
    with tenant([caller.team_id]):
        rows = Erasure.objects.unscoped().filter(
            team_id=caller.team_id, receipt__to_decide__0__isnull=False
        )
        states = [state for row in rows.order_by("created_at", "id") for state in _iter_states(row)]
        pending = _add_entries(caller, [state for state in states if not state.decision])
    return [state for state in pending if state.may_decide]


def list_decisions(caller: MemoryCaller, erasure: Erasure) -> list[DecisionState]:
    """Return the memories of a receipt that the caller sees, and those that were erased by a decision."""
    with tenant([caller.team_id]):
        states = _add_entries(caller, [*_iter_states(erasure)])
    return [state for state in states if state.entry or state.decision == Decision.ERASE]


@retry_on_conflict
def decide(
    caller: MemoryCaller, *, erasure_id: UUID, entry_id: UUID, decision: Decision
) -> DecisionState:
    """Decide about a memory. Raise NotFound unless the caller sees it, and AlreadyExists if it is decided otherwise.

    Whoever may forget in its namespace may decide. What is decided already in the same way stays so.
    """
    entry = _find_entry(caller, erasure_id, entry_id)
    with open_namespace(
        caller, "forget", "memory.erasure_decided", namespace=entry.namespace.text
    ) as access:
        # It comes before the namespace in the order of locks.
        row = _select(caller, erasure_id).select_for_update(of=("self",)).get()
        state = next(each for each in _iter_states(row) if each.entry_id == entry_id)
        _check_open(state, decision)
        access.detail.update(
            erasure=str(row.pk), entry=str(entry_id), decision=str(decision), keys=1
        )
        if decision is Decision.ERASE:
            current = Entry.objects.unscoped().filter(pk=entry_id, namespace=entry.namespace)
            erase_entries(access, [current.get()])
        return _store(row, caller, state, decision)


def _find_entry(caller: MemoryCaller, erasure_id: UUID, entry_id: UUID) -> Entry:
    """Return the entry of the erasure that the caller sees. Raise NotFound if there is none."""
    with tenant([caller.team_id]):
        row = _select(caller, erasure_id).first()
        ids = [state.entry_id for state in _iter_states(row)] if row is not None else []
        entries = select_visible(caller, Entry).filter(pk=entry_id, pk__in=ids, deleted_at=None)
        entry = entries.select_related("namespace").first()
    if entry is None:
        raise NotFound(_("There is nothing to decide about this memory."))
    return entry


def _select(
    caller: MemoryCaller, erasure_id: UUID
) -> Any:  # Any: the manager's queryset is untyped
    rows = Erasure.objects.unscoped()
    return rows.filter(team_id=caller.team_id, pk=erasure_id, status=JobStatus.DONE)


def _check_open(state: DecisionState, decision: Decision) -> None:
    """Raise AlreadyExists if somebody has decided otherwise. Only what was kept can be reopened."""
    is_kept = state.decision == Decision.KEEP
    if decision is Decision.REOPEN:
        if not is_kept:
            raise AlreadyExists(_("Nobody has decided about this memory yet."))
    elif is_kept and decision is not Decision.KEEP:
        raise AlreadyExists(_("This memory was kept. Reopen the decision first."))


def _store(
    row: Erasure, caller: MemoryCaller, state: DecisionState, decision: Decision
) -> DecisionState:
    decisions = dict(row.decisions or {})
    key = str(state.entry_id)
    if decision is Decision.REOPEN:
        decisions.pop(key, None)
    elif state.decision != decision:
        moment = timezone.now()
        by = caller.principal.actor
        decisions[key] = {"decision": str(decision), "by": by, "at": moment.isoformat()}
    row.decisions = decisions
    row.save(update_fields=["decisions"])
    return next(each for each in _iter_states(row) if each.entry_id == state.entry_id)


def _iter_states(row: Erasure) -> Iterator[DecisionState]:
    decisions = row.decisions or {}
    for text in (row.receipt or {}).get("to_decide") or ():
        state = DecisionState(row.pk, UUID(text), row.finished_at or row.created_at)
        if found := decisions.get(text):
            moment = datetime.fromisoformat(found["at"])
            state = replace(
                state, decision=found["decision"], decided_by=found["by"], decided_at=moment
            )
        yield state


def _add_entries(caller: MemoryCaller, states: Sequence[DecisionState]) -> list[DecisionState]:
    """Add the entries that the caller sees, and whether they may forget them."""
    ids = [state.entry_id for state in states]
    rows = select_visible(caller, Entry).filter(pk__in=ids, deleted_at=None)
    entries = {entry.pk: entry for entry in rows.select_related("namespace")}
    namespaces = {entry.namespace_id: entry.namespace for entry in entries.values()}
    may = {
        pk: permissions.is_allowed(caller.principal, "forget", permissions.build_target(namespace))
        for pk, namespace in namespaces.items()
    }
    return [
        replace(
            state,
            entry=entries.get(state.entry_id),
            may_decide=state.entry_id in entries and may[entries[state.entry_id].namespace_id],
        )
        for state in states
    ]
