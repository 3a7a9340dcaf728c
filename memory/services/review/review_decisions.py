"""A person's word about what waits: accepted, joined with another, rejected, taken back; one, or many.

Whatever it is, a proposal or a memory in quarantine, it goes through the door of its namespace.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.again import tried_again
from memory.core.errors import InvalidInput, MemoryFault, NotFound
from memory.core.records import Json, MemoryEntry, MemoryQuery, Tier
from memory.logic.near import list_in, proofs
from memory.logic.proposals import State
from memory.logic.texts import texts_in
from memory.logic.tiers import Move
from memory.logic.writes import as_it_was
from memory.models import Entry, Proposal, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.provider import search
from memory.services import tiers
from memory.services.caller import MemoryCaller
from memory.services.door import opened
from memory.services.edit import edit
from memory.services.one_act import OneAct
from memory.services.proposals import (
    AS_PROPOSED,
    apply_proposal,
    merge_proposal,
    reject_proposal,
    reopen_proposal,
    undo_proposal,
)
from memory.services.undo import undo
from memory.services.waiting import find
from memory.services.within import at_once


ALIKE: Final = 6  # memories offered to join


@dataclass(frozen=True, slots=True)
class Decided:
    """``left``: those that couldn't be; they wait as before."""

    done: tuple[UUID, ...]
    left: tuple[UUID, ...] = ()


@tried_again
def accept(
    caller: MemoryCaller, *, item_id: UUID, value: Json = AS_PROPOSED, reason: str = ""
) -> None:
    """With ``value`` as changed by whoever accepts it."""
    row = _found(caller, item_id)
    if isinstance(row, Proposal):
        apply_proposal(caller, proposal_id=item_id, value=value, reason=reason)
        return
    with tenant([caller.team_id]):  # both or none
        if value is not AS_PROPOSED and value != row.value:
            edit(caller, entry_id=item_id, if_revision=row.revision, value=value, reason=reason)
        tiers.approve(caller, entry_ids=[item_id], reason=reason)


@tried_again
def reject(caller: MemoryCaller, *, item_id: UUID, always: bool = False, reason: str = "") -> None:
    """What is in quarantine stays there as rejected, so that the gate knows it: that is for good."""
    row = _found(caller, item_id)
    if isinstance(row, Proposal):
        reject_proposal(caller, proposal_id=item_id, always=always, reason=reason)
    else:
        tiers.reject(caller, entry_ids=[item_id], reason=reason)


@tried_again
def merge(caller: MemoryCaller, *, item_id: UUID, into: str, value: Json, reason: str = "") -> None:
    """Into the memory under the key ``into``, which says ``value`` from now on."""
    row = _found(caller, item_id)
    if isinstance(row, Proposal):
        merge_proposal(caller, proposal_id=item_id, into=into, value=value, reason=reason)
    else:
        _merge_held(caller, row, into, value, reason)


@tried_again
def alike(caller: MemoryCaller, *, item_id: UUID) -> list[MemoryEntry]:
    """Memories of its namespace that what is new may be joined with, the likest first."""
    row = _found(caller, item_id)
    value = row.value if isinstance(row, Entry) else (row.new or {}).get("value")
    text = " ".join(texts_in(value))[:2_000]
    with opened(caller, "view", "memory.listed", namespace=row.namespace.text) as door:
        place = row.namespace.text
        found: list[MemoryEntry] = []
        for query in (
            MemoryQuery(place, query_text=text, top_k=ALIKE),
            MemoryQuery(place, top_k=ALIKE),
        ):
            if not found:
                there = door.elsewhere
                found = there.recall(query) if there else search(row.namespace, query, door.now)
        door.detail["keys"] = len(found)
        return found


@tried_again
def take_back(caller: MemoryCaller, *, item_ids: Sequence[UUID]) -> Decided:
    """What was decided last about each, so that it waits again."""
    return _each(caller, item_ids, lambda one: _take_back(caller, one))


@tried_again
def accept_many(caller: MemoryCaller, *, item_ids: Sequence[UUID], reason: str = "") -> Decided:
    return _each(caller, item_ids, lambda one: accept(caller, item_id=one, reason=reason))


@tried_again
def reject_many(
    caller: MemoryCaller, *, item_ids: Sequence[UUID], always: bool = False, reason: str = ""
) -> Decided:
    return _each(
        caller, item_ids, lambda one: reject(caller, item_id=one, always=always, reason=reason)
    )


def _each(caller: MemoryCaller, item_ids: Sequence[UUID], act: Callable[[UUID], None]) -> Decided:
    """Each for itself: what was changed since is no reason to leave the others undone. A lone one says why."""
    if len(item_ids) == 1:
        act(item_ids[0])
        return Decided(tuple(item_ids))
    done: list[UUID] = []
    left: list[UUID] = []
    with tenant([caller.team_id]):
        rows.lock_namespaces(caller.team_id, _places(caller, item_ids))
        for one in dict.fromkeys(item_ids):
            try:
                act(one)
            except MemoryFault:
                left.append(one)
            else:
                done.append(one)
    return Decided(tuple(done), tuple(left))


def _places(caller: MemoryCaller, item_ids: Sequence[UUID]) -> set[str]:
    """Where they are. Whether they are the caller's to decide is asked of each."""
    kinds: tuple[type[Proposal] | type[Entry], ...] = (Proposal, Entry)
    return {
        text
        for kind in kinds
        for text in kind.objects.unscoped()
        .filter(team_id=caller.team_id, pk__in=item_ids)
        .values_list("namespace__text", flat=True)
    }


def _found(caller: MemoryCaller, item_id: UUID) -> Proposal | Entry:
    with tenant([caller.team_id]):
        return find(caller, item_id)


def _take_back(caller: MemoryCaller, item_id: UUID) -> None:
    row = _found(caller, item_id)
    reason = _("taken back in the review")
    if isinstance(row, Entry):
        undo(caller, change_id=_decision_about(caller, row))
        return
    with tenant([caller.team_id]):  # both or none
        if row.state == State.APPLIED:
            undo_proposal(caller, proposal_id=item_id, reason=reason)
        reopen_proposal(caller, proposal_id=item_id, reason=reason)


def _decision_about(caller: MemoryCaller, row: Entry) -> UUID:
    """The change that moved it last."""
    with tenant([caller.team_id]):
        made = Revision.objects.unscoped().filter(entry=row).order_by("-number")
        found = made.values_list("change_id", flat=True).first()
    if found is None:
        raise NotFound(_("There is no such change."))
    return found


def _merge_held(caller: MemoryCaller, row: Entry, into: str, value: Json, reason: str) -> None:
    place = row.namespace.text
    with opened(caller, "write", tiers.ACTIONS[Move.APPROVE], namespace=place) as door:
        entries = OneAct(door, reason=reason)
        held = rows.living(entries.namespace).filter(pk=row.pk, tier=Tier.QUARANTINE.value).first()
        there = next(iter(at_once(entries.recall(MemoryQuery(place, key=into)))), None)
        if held is None or there is None:
            raise NotFound(_("There is no such memory; it may be forgotten."))
        if door.elsewhere is not None:
            raise InvalidInput("namespace: what is kept elsewhere holds nothing in quarantine.")
        before = list_in(there.metadata, "merged_from", dict)
        merged = [*before, {"key": held.key, "id": str(held.pk)}]
        metadata = {**there.metadata, "proofs": proofs(there) + 1, "merged_from": merged}
        both = entries.change_id
        door.change(entries.namespace, Operation.EDIT, 2, reason, change_id=both)
        at_once(entries.store(replace(as_it_was(there, door.now), value=value, metadata=metadata)))
        at_once(entries.delete(place, held.key))
        door.detail.update(keys=2, change=str(entries.change_id), entries=[str(held.pk), there.id])
