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

from config.again import tried_again
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.core.scoped import tier_named
from memory.logic.tiers import Move, moved
from memory.models import Entry, Namespace
from memory.models.entries import Operation
from memory.providers.postgres import many, rows
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened
from memory.services.edit import check_revision
from memory.services.forget import MOST_AT_ONCE
from memory.services.gate import MEANT_FOR
from memory.services.listing import EntryPage, entries
from memory.services.one_place import shared_place


@dataclass(frozen=True, slots=True)
class MovedEntries:
    """``change_id`` is what undo takes."""

    entries: tuple[MemoryEntry, ...]
    change_id: UUID


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """What a move would make of an entry. ``replaces``: what is in use under the key it was meant for.

    With a ``problem`` none of them would be moved.
    """

    entry: MemoryEntry
    to: Tier
    replaces: MemoryEntry | None = None
    problem: str = ""


Ids = Sequence[UUID | str]

# Each move's word in the audit trail.
ACTIONS: Final[Mapping[Move, str]] = {
    Move.APPROVE: "memory.approved",
    Move.REJECT: "memory.rejected",
    Move.PROMOTE: "memory.promoted",
    Move.QUARANTINE: "memory.quarantined",
}


# Where each leads unless it is said.
LEADS_TO: Final[Mapping[Move, Tier]] = {
    Move.APPROVE: Tier.LONG_TERM,
    Move.REJECT: Tier.QUARANTINE,
    Move.PROMOTE: Tier.LONG_TERM,
    Move.QUARANTINE: Tier.QUARANTINE,
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
    named = _named(move)
    return _move(caller, named, _leads(named, to), entry_ids, reason, if_revision)


@tried_again
def plan_moves(
    caller: MemoryCaller, *, move: str, entry_ids: Ids, to: str | None = None
) -> tuple[PlannedMove, ...]:
    """The same without a trace but its row in the trail, entry by entry, for whoever might do it."""
    named = _named(move)
    leads = _leads(named, to)
    _check_count(entry_ids)
    place = shared_place(caller, entry_ids)
    with opened(caller, "write", "memory.listed", namespace=place) as door:
        chosen = _chosen(door.place.row, entry_ids, door.now)
        door.detail.update(keys=len(chosen), planned=str(named))
        return tuple(_planned(one, named, leads, door.now) for one in chosen)


def approve(
    caller: MemoryCaller, *, entry_ids: Ids, to: str = "long_term", reason: str = ""
) -> MovedEntries:
    """Out of quarantine, into use. What was held apart for a key takes its place there."""
    return _move(caller, Move.APPROVE, tier_named(to), entry_ids, reason)


def reject(caller: MemoryCaller, *, entry_ids: Ids, reason: str = "") -> MovedEntries:
    """Stays in quarantine, so that the gate knows it when it is proposed again."""
    return _move(caller, Move.REJECT, Tier.QUARANTINE, entry_ids, reason)


def promote(caller: MemoryCaller, *, entry_ids: Ids, reason: str = "") -> MovedEntries:
    """For good: it has no end any more."""
    return _move(caller, Move.PROMOTE, Tier.LONG_TERM, entry_ids, reason)


def quarantine(caller: MemoryCaller, *, entry_ids: Ids, reason: str = "") -> MovedEntries:
    """Out of use, until somebody approves it."""
    return _move(caller, Move.QUARANTINE, Tier.QUARANTINE, entry_ids, reason)


def quarantined(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    rejected: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> EntryPage:
    """What is in quarantine and waits for somebody, newest first; or what was rejected there."""
    decided: Json = str(Move.REJECT) if rejected else {"$ne": str(Move.REJECT)}
    return entries(
        caller,
        scope=scope,
        namespace=namespace,
        tier=Tier.QUARANTINE,
        filter={"review": decided},
        limit=limit,
        offset=offset,
    )


def _named(move: str) -> Move:
    try:
        return Move(move)
    except ValueError:
        raise InvalidInput(f"move: use one of {', '.join(Move)}.") from None


def _leads(move: Move, to: str | None) -> Tier:
    return tier_named(to) if to else LEADS_TO[move]


def _check_count(entry_ids: Ids) -> None:
    if not 1 <= len(entry_ids) <= MOST_AT_ONCE:
        raise InvalidInput(f"entries: from 1 to {MOST_AT_ONCE} at once.")


def _chosen(namespace: Namespace | None, entry_ids: Ids, now: datetime) -> list[Entry]:
    """All of them, or NotFound."""
    wanted = {UUID(str(one)) for one in entry_ids}
    found: list[Entry] = []
    if namespace is not None:
        fresh = rows.living(namespace).exclude(expires_at__lte=now)
        found = list(fresh.filter(pk__in=wanted).select_related("namespace").order_by("id"))
    if len(found) != len(wanted):
        raise NotFound(_("There is no such memory; it may be forgotten."))
    return found


def _planned(row: Entry, move: Move, to: Tier, now: datetime) -> PlannedMove:
    entry = rows.entry_of(row, row.namespace.text)
    try:
        moved(entry, move, to)
    except InvalidInput as fault:
        return PlannedMove(entry, to, problem=str(fault))
    meant_for = entry.metadata.get(MEANT_FOR) if move is Move.APPROVE else None
    there = rows.visible_key(row.namespace, str(meant_for), now) if meant_for else None
    return PlannedMove(entry, to, rows.entry_of(there, row.namespace.text) if there else None)


def _move(
    caller: MemoryCaller,
    move: Move,
    to: Tier,
    entry_ids: Ids,
    reason: str,
    if_revision: int | None = None,
) -> MovedEntries:
    _check_count(entry_ids)
    place = shared_place(caller, entry_ids)
    with opened(caller, "write", ACTIONS[move], namespace=place) as door:
        namespace = door.claim()
        rows.expire(namespace, door.now)
        chosen = _chosen(namespace, entry_ids, door.now)
        if if_revision is not None:
            check_revision(chosen[0], if_revision)
        change = door.change(namespace, Operation.EDIT, len(chosen), reason)
        act = door.act(Operation.EDIT, reason, change.pk)
        apart = [one for one in chosen if move is Move.APPROVE and one.metadata.get(MEANT_FOR)]
        where = [one for one in chosen if one not in apart]
        many.revise(namespace, where, act, lambda one: _move_there(one, namespace, move, to, act))
        done = [rows.entry_of(one, namespace.text) for one in where]
        done += [_put_in_its_place(door, namespace, one, to, act) for one in apart]
        ids: list[Json] = [one.id for one in done]
        door.detail.update(keys=len(done), entries=ids[:50], change=str(change.pk), to=str(to))
        return MovedEntries(tuple(done), change.pk)


def _move_there(row: Entry, namespace: Namespace, move: Move, to: Tier, act: rows.Act) -> None:
    params = moved(rows.entry_of(row, namespace.text), move, to, why=act.reason)
    row.tier, row.metadata = params.tier.value, dict(params.metadata)
    ttl = params.ttl_seconds
    row.expires_at = None if ttl is None else act.at + timedelta(seconds=ttl)


def _put_in_its_place(
    door: Door, namespace: Namespace, row: Entry, to: Tier, act: rows.Act
) -> MemoryEntry:
    """What was held apart for a key is stored under it."""
    params = moved(rows.entry_of(row, namespace.text), Move.APPROVE, to, why=act.reason)
    params = _in_its_place(params, str(params.metadata[MEANT_FOR]))
    rows.forget(namespace, [row], replace(act, operation=Operation.FORGET))
    entry, _before = rows.write(namespace, params, act, door.policy)
    return rows.entry_of(entry, namespace.text)


def _in_its_place(params: StoreParams, key: str) -> StoreParams:
    metadata = {name: value for name, value in params.metadata.items() if name != MEANT_FOR}
    return replace(params, key=key, metadata=metadata)
