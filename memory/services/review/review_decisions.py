"""Decide about items of the review queue: accept, merge, reject or revert, for one item or many.

Each decision passes the gateway of the item's namespace, for proposals and quarantined entries alike.
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
from memory.logic.entries.duplicates import count_evidence, get_metadata_list
from memory.logic.entries.texts import join_texts
from memory.logic.entries.tiers import TierAction
from memory.logic.entries.write_batch import build_restore_params, find_entry
from memory.logic.review.proposals import ReviewState
from memory.models import Entry, Proposal, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.services.entries import tiers
from memory.services.entries.edit import edit
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
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
from memory.services.review.review_queue import find_item


MAX_SIMILAR: Final = 6  # entries offered for a merge


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """The items that were decided, and the skipped ones, which stay in the queue."""

    decided: tuple[UUID, ...]
    skipped: tuple[UUID, ...] = ()


@retry_on_conflict
def accept(
    caller: MemoryCaller, *, item_id: UUID, value: Json = AS_PROPOSED, reason: str = ""
) -> None:
    """Accept the item, with another ``value`` if one is given."""
    row = _load_item(caller, item_id)
    if isinstance(row, Proposal):
        apply_proposal(caller, proposal_id=item_id, value=value, reason=reason)
        return
    with tenant([caller.team_id]):  # both or none
        if value is not AS_PROPOSED and value != row.value:
            edit(caller, entry_id=item_id, if_revision=row.revision, value=value, reason=reason)
        tiers.move(caller, move="approve", entry_ids=[item_id], reason=reason)


@retry_on_conflict
def reject(caller: MemoryCaller, *, item_id: UUID, always: bool = False, reason: str = "") -> None:
    """Reject the item. A quarantined entry is kept as rejected, so that the content filter recognizes its content."""
    row = _load_item(caller, item_id)
    if isinstance(row, Proposal):
        reject_proposal(caller, proposal_id=item_id, always=always, reason=reason)
    else:
        tiers.move(caller, move="reject", entry_ids=[item_id], reason=reason)


@retry_on_conflict
def merge(caller: MemoryCaller, *, item_id: UUID, into: str, value: Json, reason: str = "") -> None:
    """Merge the item into the entry with the key ``into``, which gets this value."""
    row = _load_item(caller, item_id)
    if isinstance(row, Proposal):
        merge_proposal(caller, proposal_id=item_id, into=into, value=value, reason=reason)
    else:
        _merge_entry(caller, row, into, value, reason)


@retry_on_conflict
def list_similar(caller: MemoryCaller, *, item_id: UUID) -> list[MemoryEntry]:
    """Return entries of the namespace that the item may be merged into: the most similar, or the newest if none is."""
    row = _load_item(caller, item_id)
    value = row.value if isinstance(row, Entry) else (row.new or {}).get("value")
    text = join_texts(value)[:2_000]
    with open_namespace(caller, "view", "memory.listed", namespace=row.namespace.text) as access:
        store, newest = access.open_store(), MemoryQuery(access.text, top_k=MAX_SIMILAR)
        entries = store.recall(replace(newest, query_text=text)) or store.recall(newest)
        access.detail["keys"] = len(entries)
        return entries


@retry_on_conflict
def revert_decisions(caller: MemoryCaller, *, item_ids: Sequence[UUID]) -> DecisionResult:
    """Revert the last decision about each item, so that it returns to the queue."""
    return _decide_each(caller, item_ids, lambda id_: _revert_decision(caller, id_))


@retry_on_conflict
def accept_many(
    caller: MemoryCaller, *, item_ids: Sequence[UUID], reason: str = ""
) -> DecisionResult:
    return _decide_each(caller, item_ids, lambda id_: accept(caller, item_id=id_, reason=reason))


@retry_on_conflict
def reject_many(
    caller: MemoryCaller, *, item_ids: Sequence[UUID], always: bool = False, reason: str = ""
) -> DecisionResult:
    return _decide_each(
        caller, item_ids, lambda id_: reject(caller, item_id=id_, always=always, reason=reason)
    )


def _decide_each(
    caller: MemoryCaller, item_ids: Sequence[UUID], decide: Callable[[UUID], None]
) -> DecisionResult:
    """Decide about each item separately, and skip those that fail. The failure of a single item is raised."""
    if len(item_ids) == 1:
        decide(item_ids[0])
        return DecisionResult(tuple(item_ids))
    decided: list[UUID] = []
    skipped: list[UUID] = []
    with tenant([caller.team_id]):
        rows.lock_namespaces(caller.team_id, _list_namespaces(caller, item_ids))
        for item_id in dict.fromkeys(item_ids):
            try:
                decide(item_id)
            except MemoryFault:
                skipped.append(item_id)
            else:
                decided.append(item_id)
    return DecisionResult(tuple(decided), tuple(skipped))


def _list_namespaces(caller: MemoryCaller, item_ids: Sequence[UUID]) -> set[str]:
    """Return the namespaces of the items, without a check of the permissions."""
    kinds: tuple[type[Proposal] | type[Entry], ...] = (Proposal, Entry)
    return {
        text
        for kind in kinds
        for text in kind.objects.unscoped()
        .filter(team_id=caller.team_id, pk__in=item_ids)
        .values_list("namespace__text", flat=True)
    }


def _load_item(caller: MemoryCaller, item_id: UUID) -> Proposal | Entry:
    with tenant([caller.team_id]):
        return find_item(caller, item_id)


def _revert_decision(caller: MemoryCaller, item_id: UUID) -> None:
    row = _load_item(caller, item_id)
    reason = _("undone in review")
    if isinstance(row, Entry):
        undo(caller, change_id=_find_last_change(caller, row))
        return
    with tenant([caller.team_id]):  # both or none
        if row.state == ReviewState.APPLIED:
            undo_proposal(caller, proposal_id=item_id, reason=reason)
        reopen_proposal(caller, proposal_id=item_id, reason=reason)


def _find_last_change(caller: MemoryCaller, row: Entry) -> UUID:
    """Return the id of the last change of the entry, which is the decision."""
    with tenant([caller.team_id]):
        revisions = Revision.objects.unscoped().filter(entry=row).order_by("-number")
        change_id = revisions.values_list("change_id", flat=True).first()
    if change_id is None:
        raise NotFound(_("Change not found."))
    return change_id


def _merge_entry(caller: MemoryCaller, row: Entry, into: str, value: Json, reason: str) -> None:
    """Store the value under the key ``into`` with the entry as one more proof, and forget the quarantined entry."""
    namespace = row.namespace.text
    with open_namespace(
        caller, "write", tiers.ACTIONS[TierAction.APPROVE], namespace=namespace
    ) as access:
        batch = Batch(access, reason)
        living = rows.find_living(batch.namespace)
        source = living.filter(pk=row.pk, tier=Tier.QUARANTINE.value).first()
        target = find_entry(batch.store, namespace, into)
        if source is None or target is None:
            raise NotFound(_("Memory not found. It may have been forgotten."))
        if access.external is not None:
            raise InvalidInput("namespace: external providers have no quarantine.")
        sources = get_metadata_list(target.metadata, "merged_from", dict)
        sources = [*sources, {"key": source.key, "id": str(source.pk)}]
        metadata = {**target.metadata, "proofs": count_evidence(target) + 1, "merged_from": sources}
        change_id = batch.change_id
        access.record_change(batch.namespace, Operation.EDIT, 2, reason, change_id=change_id)
        params = replace(build_restore_params(target, access.now), value=value, metadata=metadata)
        batch.store.store(params)
        batch.store.delete(namespace, source.key)
        access.detail.update(keys=2, change=str(change_id), entries=[str(source.pk), target.id])
