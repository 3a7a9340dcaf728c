"""A person's word about what waits: accepted, joined with another, rejected, taken back; one, or many.

Whatever it is, a proposal or a memory in quarantine, it goes through the door of its namespace.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, MemoryFault, NotFound
from memory.core.records import Json, MemoryEntry, MemoryQuery, Tier
from memory.logic.entries.duplicates import list_in, proofs
from memory.logic.entries.texts import texts_in
from memory.logic.entries.tiers import Move
from memory.logic.entries.write_batch import as_it_was, find_entry
from memory.logic.review.proposals import State
from memory.models import Entry, Proposal, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.services.entries import tiers
from memory.services.entries.edit import edit
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import Batch
from memory.services.history.undo import undo
from memory.services.review.proposals import (
    AS_PROPOSED,
    apply_proposal,
    merge_proposal,
    reject_proposal,
    reopen_proposal,
    undo_proposal,
)
from memory.services.review.review_queue import find


ALIKE: Final = 6  # memories offered to join


@dataclass(frozen=True, slots=True)
class Decided:
    """``left``: those that couldn't be; they wait as before."""

    done: tuple[UUID, ...]
    left: tuple[UUID, ...] = ()


@retry_on_conflict
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


@retry_on_conflict
def reject(caller: MemoryCaller, *, item_id: UUID, always: bool = False, reason: str = "") -> None:
    """What is in quarantine stays there as rejected, so that the gate knows it: that is for good."""
    row = _found(caller, item_id)
    if isinstance(row, Proposal):
        reject_proposal(caller, proposal_id=item_id, always=always, reason=reason)
    else:
        tiers.reject(caller, entry_ids=[item_id], reason=reason)


@retry_on_conflict
def merge(caller: MemoryCaller, *, item_id: UUID, into: str, value: Json, reason: str = "") -> None:
    """Into the memory under the key ``into``, which says ``value`` from now on."""
    row = _found(caller, item_id)
    if isinstance(row, Proposal):
        merge_proposal(caller, proposal_id=item_id, into=into, value=value, reason=reason)
    else:
        _merge_held(caller, row, into, value, reason)


@retry_on_conflict
def alike(caller: MemoryCaller, *, item_id: UUID) -> list[MemoryEntry]:
    """Memories of its namespace that what is new may be joined with, the likest first."""
    row = _found(caller, item_id)
    value = row.value if isinstance(row, Entry) else (row.new or {}).get("value")
    text = " ".join(texts_in(value))[:2_000]
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=row.namespace.text
    ) as access:
        place = row.namespace.text
        found: list[MemoryEntry] = []
        for query in (
            MemoryQuery(place, query_text=text, top_k=ALIKE),
            MemoryQuery(place, top_k=ALIKE),
        ):
            if not found:
                found = access.store().recall(query)
        access.detail["keys"] = len(found)
        return found


@retry_on_conflict
def take_back(caller: MemoryCaller, *, item_ids: Sequence[UUID]) -> Decided:
    """What was decided last about each, so that it waits again."""
    return _each(caller, item_ids, lambda one: _take_back(caller, one))


@retry_on_conflict
def accept_many(caller: MemoryCaller, *, item_ids: Sequence[UUID], reason: str = "") -> Decided:
    return _each(caller, item_ids, lambda one: accept(caller, item_id=one, reason=reason))


@retry_on_conflict
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
    reason = _("undone in review")
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
        raise NotFound(_("Change not found."))
    return found


def _merge_held(caller: MemoryCaller, row: Entry, into: str, value: Json, reason: str) -> None:
    place = row.namespace.text
    with MemoryGateway(caller).open_namespace(
        "write", tiers.ACTIONS[Move.APPROVE], namespace=place
    ) as access:
        batch = Batch(access, reason)
        held = rows.living(batch.namespace).filter(pk=row.pk, tier=Tier.QUARANTINE.value).first()
        there = find_entry(batch.store, place, into)
        if held is None or there is None:
            raise NotFound(_("Memory not found. It may have been forgotten."))
        if access.external is not None:
            raise InvalidInput("namespace: external providers have no quarantine.")
        before = list_in(there.metadata, "merged_from", dict)
        merged = [*before, {"key": held.key, "id": str(held.pk)}]
        metadata = {**there.metadata, "proofs": proofs(there) + 1, "merged_from": merged}
        both = batch.change_id
        access.change(batch.namespace, Operation.EDIT, 2, reason, change_id=both)
        params = replace(as_it_was(there, access.now), value=value, metadata=metadata)
        batch.store.store(params)
        batch.store.delete(place, held.key)
        access.detail.update(keys=2, change=str(batch.change_id), entries=[str(held.pk), there.id])
