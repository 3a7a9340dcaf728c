"""Move entries between quarantine, working and long-term memory by hand, several at once, all or none.

Callers who may write to a namespace decide about its quarantine. A move is a revision like any other change, and
several moves made together are undone as one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import Json, MemoryEntry, MemoryQuery, Tier
from memory.core.scopes import parse_tier
from memory.logic.entries.tiers import TierAction, build_transition
from memory.models import Entry, Namespace
from memory.models.entries import Operation
from memory.providers.postgres import bulk, rows
from memory.providers.postgres.provider import search
from memory.services.entries.edit import check_revision
from memory.services.entries.forget import check_entry_count
from memory.services.entries.listing import EntryPage, list_entries
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import get_shared_namespace, open_namespace
from memory.services.gateway.ingress_gate import TARGET_KEY
from memory.services.gateway.marks import check_may_approve
from memory.services.gateway.namespace_access import NamespaceAccess


@dataclass(frozen=True, slots=True)
class MovedEntries:
    """The moved entries and the id of their change, for undo."""

    entries: tuple[MemoryEntry, ...]
    change_id: UUID


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """It says what a move would do with an entry, and which entry in use it would replace.

    If one entry of a move has a ``problem``, no entry would be moved.
    """

    entry: MemoryEntry
    to: Tier
    replaces: MemoryEntry | None = None
    problem: str = ""


Ids = Sequence[UUID | str]

# The audit action of each move.
ACTIONS: Final[Mapping[TierAction, str]] = {
    TierAction.APPROVE: "memory.approved",
    TierAction.REJECT: "memory.rejected",
    TierAction.PROMOTE: "memory.promoted",
    TierAction.QUARANTINE: "memory.quarantined",
}

# The default target tier of each move.
DEFAULT_TIERS: Final[Mapping[TierAction, Tier]] = {
    TierAction.APPROVE: Tier.LONG_TERM,
    TierAction.REJECT: Tier.QUARANTINE,
    TierAction.PROMOTE: Tier.LONG_TERM,
    TierAction.QUARANTINE: Tier.QUARANTINE,
}


@retry_on_conflict
def move(
    caller: MemoryCaller,
    *,
    move: str,
    entry_ids: Ids,
    to: str | None = None,
    reason: str = "",
    if_revision: int | None = None,
) -> MovedEntries:
    """Move the entries by the name of the move, such as "approve". With ``if_revision``, a single entry must still have
    this revision. An API key approves nothing unless it may speak for people.
    """
    action = _parse_move(move)
    tier = _resolve_tier(action, to)
    check_entry_count(entry_ids)
    text = get_shared_namespace(caller, entry_ids)
    with open_namespace(caller, "write", ACTIONS[action], namespace=text) as access:
        if action is TierAction.APPROVE:
            check_may_approve(caller)
        namespace = access.claim()
        rows.expire(namespace, access.now)
        selected = list_entries_by_id(namespace, entry_ids, access.now)
        if if_revision is not None:
            check_revision(selected[0], if_revision)
        change = access.record_change(namespace, Operation.EDIT, len(selected), reason)
        context = access.build_context(Operation.EDIT, reason, change.pk)
        is_approved = action is TierAction.APPROVE
        pending = [entry for entry in selected if is_approved and entry.metadata.get(TARGET_KEY)]
        rest = [entry for entry in selected if entry not in pending]
        bulk.revise(
            namespace,
            rest,
            context,
            lambda entry: _apply_move(entry, access, action, tier, context),
        )
        entries = [rows.build_entry(entry, access.text) for entry in rest]
        entries += [_replace_target(access, namespace, entry, tier, context) for entry in pending]
        ids = [entry.id for entry in entries[:50]]
        access.detail.update(keys=len(entries), entries=ids, change=str(change.pk), to=str(tier))
        return MovedEntries(tuple(entries), change.pk)


@retry_on_conflict
def plan_moves(
    caller: MemoryCaller, *, move: str, entry_ids: Ids, to: str | None = None
) -> tuple[PlannedMove, ...]:
    """Return what the move would do with each entry. Only the read is audited."""
    action = _parse_move(move)
    tier = _resolve_tier(action, to)
    check_entry_count(entry_ids)
    text = get_shared_namespace(caller, entry_ids)
    with open_namespace(caller, "write", "memory.listed", namespace=text) as access:
        selected = list_entries_by_id(access.target.row, entry_ids, access.now)
        access.detail.update(keys=len(selected), planned=str(action))
        return tuple(_plan_move(entry, action, tier, access.now) for entry in selected)


def list_quarantined(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    rejected: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> EntryPage:
    """Return the quarantined entries that wait for a decision, or those that were rejected, newest first."""
    review: Json = str(TierAction.REJECT) if rejected else {"$ne": str(TierAction.REJECT)}
    return list_entries(
        caller,
        scope=scope,
        namespace=namespace,
        tier=Tier.QUARANTINE,
        filter={"review": review},
        limit=limit,
        offset=offset,
    )


def _parse_move(move: str) -> TierAction:
    try:
        return TierAction(move)
    except ValueError:
        raise InvalidInput(f"move: use one of {', '.join(TierAction)}.") from None


def _resolve_tier(move: TierAction, to: str | None) -> Tier:
    return parse_tier(to) if to else DEFAULT_TIERS[move]


def list_entries_by_id(namespace: Namespace | None, entry_ids: Ids, now: datetime) -> list[Entry]:
    """Return the namespace's entries in id order. Raise NotFound if one is missing, forgotten or expired."""
    ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    entries: list[Entry] = []
    if namespace is not None:
        unexpired = rows.find_living(namespace).exclude(expires_at__lte=now)
        entries = list(unexpired.filter(pk__in=ids).select_related("namespace").order_by("id"))
    if len(entries) != len(ids):
        raise NotFound(_("Memory not found. It may have been forgotten."))
    return entries


def _plan_move(row: Entry, move: TierAction, to: Tier, now: datetime) -> PlannedMove:
    entry = rows.build_entry(row, row.namespace.text)
    try:
        build_transition(entry, move, to)
    except InvalidInput as fault:
        return PlannedMove(entry, to, problem=str(fault))
    target_key = entry.metadata.get(TARGET_KEY) if move is TierAction.APPROVE else None
    if not target_key:
        return PlannedMove(entry, to)
    query = MemoryQuery(row.namespace.text, key=str(target_key))
    return PlannedMove(entry, to, next(iter(search(row.namespace, query, now)), None))


def _apply_move(
    row: Entry, access: NamespaceAccess, move: TierAction, to: Tier, context: rows.WriteContext
) -> None:
    params = build_transition(rows.build_entry(row, access.text), move, to, reason=context.reason)
    row.tier, row.metadata = params.tier.value, dict(params.metadata)
    ttl = params.ttl_seconds
    row.expires_at = None if ttl is None else context.at + timedelta(seconds=ttl)


def _replace_target(
    access: NamespaceAccess, namespace: Namespace, row: Entry, to: Tier, context: rows.WriteContext
) -> MemoryEntry:
    """Store an entry that was held for another key under that key, and forget the held one."""
    held_entry = rows.build_entry(row, access.text)
    params = build_transition(held_entry, TierAction.APPROVE, to, reason=context.reason)
    metadata = {name: value for name, value in params.metadata.items() if name != TARGET_KEY}
    params = replace(params, key=str(params.metadata[TARGET_KEY]), metadata=metadata)
    rows.forget(namespace, [row], replace(context, operation=Operation.FORGET))
    entry, _before = rows.write(namespace, params, context, access.policy)
    return rows.build_entry(entry, access.text)
