"""Moves between quarantine, working and long-term memory, by hand: each of several entries at once, all or none.

Who may write to a namespace decides about what waits there. A move is a revision like any other change,
and several made together undo as one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.core.scopes import tier_named
from memory.logic.entries.tiers import TierAction, build_transition
from memory.models import Entry, Namespace
from memory.models.entries import Operation
from memory.providers.postgres import bulk, rows
from memory.services.entries.edit import check_revision
from memory.services.entries.forget import MOST_AT_ONCE
from memory.services.entries.listing import EntryPage, entries
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.ingress_gate import TARGET_KEY
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.gateway.single_namespace import get_shared_namespace


@dataclass(frozen=True, slots=True)
class MovedEntries:
    """``change_id`` is what undo takes."""

    entries: tuple[MemoryEntry, ...]
    change_id: UUID


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """The result that a move would have. ``replaces``: what is in use under the key it was meant for.

    With a ``problem`` none of them would be moved.
    """

    entry: MemoryEntry
    to: Tier
    replaces: MemoryEntry | None = None
    problem: str = ""


Ids = Sequence[UUID | str]

# Each move's word in the audit trail.
ACTIONS: Final[Mapping[TierAction, str]] = {
    TierAction.APPROVE: "memory.approved",
    TierAction.REJECT: "memory.rejected",
    TierAction.PROMOTE: "memory.promoted",
    TierAction.QUARANTINE: "memory.quarantined",
}


# Where each leads unless it is said.
LEADS_TO: Final[Mapping[TierAction, Tier]] = {
    TierAction.APPROVE: Tier.LONG_TERM,
    TierAction.REJECT: Tier.QUARANTINE,
    TierAction.PROMOTE: Tier.LONG_TERM,
    TierAction.QUARANTINE: Tier.QUARANTINE,
}


def move(
    caller: MemoryCaller,
    *,
    move: str,
    entry_ids: Ids,
    to: str | None = None,
    reason: str = "",
    if_revision: int | None = None,
) -> MovedEntries:
    """By its name. ``if_revision``, of a single entry: only if nobody was quicker."""
    named = _parse_move(move)
    return _move(caller, named, _leads(named, to), entry_ids, reason, if_revision)


@retry_on_conflict
def plan_moves(
    caller: MemoryCaller, *, move: str, entry_ids: Ids, to: str | None = None
) -> tuple[PlannedMove, ...]:
    """The same without a trace but its row in the trail, entry by entry, for whoever might do it."""
    named = _parse_move(move)
    leads = _leads(named, to)
    _check_count(entry_ids)
    place = get_shared_namespace(caller, entry_ids)
    with MemoryGateway(caller).open_namespace("write", "memory.listed", namespace=place) as access:
        chosen = _list_chosen(access.target.row, entry_ids, access.now)
        access.detail.update(keys=len(chosen), planned=str(named))
        return tuple(_plan(entry, named, leads, access.now) for entry in chosen)


def approve(
    caller: MemoryCaller, *, entry_ids: Ids, to: str = "long_term", reason: str = ""
) -> MovedEntries:
    """Out of quarantine, into use. What was held apart for a key takes its place there."""
    return _move(caller, TierAction.APPROVE, tier_named(to), entry_ids, reason)


def reject(caller: MemoryCaller, *, entry_ids: Ids, reason: str = "") -> MovedEntries:
    """Stays in quarantine, so that the gate knows it when it is proposed again."""
    return _move(caller, TierAction.REJECT, Tier.QUARANTINE, entry_ids, reason)


def promote(caller: MemoryCaller, *, entry_ids: Ids, reason: str = "") -> MovedEntries:
    """For good: it has no end any more."""
    return _move(caller, TierAction.PROMOTE, Tier.LONG_TERM, entry_ids, reason)


def quarantine(caller: MemoryCaller, *, entry_ids: Ids, reason: str = "") -> MovedEntries:
    """Out of use, until somebody approves it."""
    return _move(caller, TierAction.QUARANTINE, Tier.QUARANTINE, entry_ids, reason)


def list_quarantined(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    rejected: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> EntryPage:
    """List the entries in quarantine that wait for somebody, newest first; or those that were rejected there."""
    decided: Json = str(TierAction.REJECT) if rejected else {"$ne": str(TierAction.REJECT)}
    return entries(
        caller,
        scope=scope,
        namespace=namespace,
        tier=Tier.QUARANTINE,
        filter={"review": decided},
        limit=limit,
        offset=offset,
    )


def _parse_move(move: str) -> TierAction:
    try:
        return TierAction(move)
    except ValueError:
        raise InvalidInput(f"move: use one of {', '.join(TierAction)}.") from None


def _leads(move: TierAction, to: str | None) -> Tier:
    return tier_named(to) if to else LEADS_TO[move]


def _check_count(entry_ids: Ids) -> None:
    if not 1 <= len(entry_ids) <= MOST_AT_ONCE:
        raise InvalidInput(f"entries: from 1 to {MOST_AT_ONCE} at once.")


def _list_chosen(namespace: Namespace | None, entry_ids: Ids, now: datetime) -> list[Entry]:
    """All of them, or NotFound."""
    ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    entries: list[Entry] = []
    if namespace is not None:
        fresh = rows.living(namespace).exclude(expires_at__lte=now)
        entries = list(fresh.filter(pk__in=ids).select_related("namespace").order_by("id"))
    if len(entries) != len(ids):
        raise NotFound(_("Memory not found. It may have been forgotten."))
    return entries


def _plan(row: Entry, move: TierAction, to: Tier, now: datetime) -> PlannedMove:
    entry = rows.entry_of(row, row.namespace.text)
    try:
        build_transition(entry, move, to)
    except InvalidInput as fault:
        return PlannedMove(entry, to, problem=str(fault))
    meant_for = entry.metadata.get(TARGET_KEY) if move is TierAction.APPROVE else None
    replaced = rows.visible_key(row.namespace, str(meant_for), now) if meant_for else None
    return PlannedMove(entry, to, rows.entry_of(replaced, row.namespace.text) if replaced else None)


def _move(
    caller: MemoryCaller,
    move: TierAction,
    to: Tier,
    entry_ids: Ids,
    reason: str,
    if_revision: int | None = None,
) -> MovedEntries:
    _check_count(entry_ids)
    place = get_shared_namespace(caller, entry_ids)
    with MemoryGateway(caller).open_namespace("write", ACTIONS[move], namespace=place) as access:
        namespace = access.claim()
        rows.expire(namespace, access.now)
        chosen = _list_chosen(namespace, entry_ids, access.now)
        if if_revision is not None:
            check_revision(chosen[0], if_revision)
        change = access.change(namespace, Operation.EDIT, len(chosen), reason)
        act = access.act(Operation.EDIT, reason, change.pk)
        held_entries = [
            entry
            for entry in chosen
            if move is TierAction.APPROVE and entry.metadata.get(TARGET_KEY)
        ]
        where = [entry for entry in chosen if entry not in held_entries]
        bulk.revise(
            namespace, where, act, lambda entry: _move_there(entry, namespace, move, to, act)
        )
        moved_entries = [rows.entry_of(entry, namespace.text) for entry in where]
        moved_entries += [
            _put_in_its_place(access, namespace, entry, to, act) for entry in held_entries
        ]
        ids: list[Json] = [entry.id for entry in moved_entries]
        access.detail.update(
            keys=len(moved_entries), entries=ids[:50], change=str(change.pk), to=str(to)
        )
        return MovedEntries(tuple(moved_entries), change.pk)


def _move_there(
    row: Entry, namespace: Namespace, move: TierAction, to: Tier, act: rows.Act
) -> None:
    params = build_transition(rows.entry_of(row, namespace.text), move, to, reason=act.reason)
    row.tier, row.metadata = params.tier.value, dict(params.metadata)
    ttl = params.ttl_seconds
    row.expires_at = None if ttl is None else act.at + timedelta(seconds=ttl)


def _put_in_its_place(
    access: NamespaceAccess, namespace: Namespace, row: Entry, to: Tier, act: rows.Act
) -> MemoryEntry:
    """Store what was held apart for a key under that key."""
    params = build_transition(
        rows.entry_of(row, namespace.text), TierAction.APPROVE, to, reason=act.reason
    )
    params = _in_its_place(params, str(params.metadata[TARGET_KEY]))
    rows.forget(namespace, [row], replace(act, operation=Operation.FORGET))
    entry, _before = rows.write(namespace, params, act, access.policy)
    return rows.entry_of(entry, namespace.text)


def _in_its_place(params: StoreParams, key: str) -> StoreParams:
    metadata = {name: value for name, value in params.metadata.items() if name != TARGET_KEY}
    return replace(params, key=key, metadata=metadata)
