"""Edit an entry by hand. Only the given fields change, and only if the entry hasn't been changed since it was read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.entry_codec import CONTENT, get_state
from memory.core.errors import AlreadyExists, NotFound
from memory.core.filters import is_same_json
from memory.core.policy import NO_LIMITS, check_bound, check_value
from memory.core.recall.selection import is_expired
from memory.core.records import MemoryEntry, Source, StoreParams, Tier
from memory.core.scopes import parse_tier
from memory.core.values import check_params
from memory.logic.entries.origins import drop_approval
from memory.models import Entry
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.services.gateway import ingress_gate
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import find_place, hash_key, open_namespace
from memory.services.gateway.marks import check_may_approve, mark_value
from memory.services.gateway.namespace_access import NamespaceAccess, NamespaceLookup


FILTERED_FIELDS: Final = {"value", "metadata", "tier"}  # the content filter checks changes of these
EMPTY_FIELDS: Final = {"value", "valid_from", "valid_until"}  # these may become None


class RevisionConflict(AlreadyExists):
    """The entry was changed after the caller read it."""


@dataclass(frozen=True, slots=True)
class _ReadEntry:
    """This says where an entry is, and its revision when it was read."""

    namespace: str
    key: str
    id: UUID
    revision: int


@retry_on_conflict
def edit(
    caller: MemoryCaller,
    *,
    entry_id: UUID | str,
    if_revision: int,
    reason: str = "",
    **changes: Any,  # fields of EntryContent
) -> MemoryEntry:
    """Edit the entry and return it. A field that is None stays as it is, except ``EMPTY_FIELDS``; the expiry always stays.

    If the new content needs a review, it is stored and returned as a quarantined entry, and this one isn't changed. An
    approval doesn't count for another value.
    """
    place = find_place(caller, entry_id)
    return _edit(caller, _ReadEntry(*place, UUID(str(entry_id)), if_revision), reason, changes)


@retry_on_conflict
def edit_entry(
    caller: MemoryCaller,
    entry: MemoryEntry,
    *,
    reason: str = "",
    **changes: Any,
) -> MemoryEntry:
    """Edit an entry as ``edit`` does, if it is still as it was read."""
    read_entry = _ReadEntry(entry.namespace, entry.key, UUID(entry.id), entry.revision)
    return _edit(caller, read_entry, reason, changes)


def _edit(
    caller: MemoryCaller, read_entry: _ReadEntry, reason: str, changes: Mapping[str, Any]
) -> MemoryEntry:
    changes = {
        name: new for name, new in changes.items() if new is not None or name in EMPTY_FIELDS
    }
    with open_namespace(caller, "write", "memory.edited", namespace=read_entry.namespace) as access:
        context = access.build_context(Operation.EDIT, reason)
        namespace, state = access.claim_to_write(read_entry.key, context)
        entry = state.entry if state else None
        if entry is None or entry.pk != read_entry.id or is_expired(entry, access.now):
            raise NotFound(_("Memory not found. It may have been forgotten."))
        check_revision(entry, read_entry.revision)
        params = mark_value(_build_params(access, entry, changes), entry, caller)
        if entry.tier == Tier.QUARANTINE and params.tier is not Tier.QUARANTINE:
            check_may_approve(caller)
        is_rewritten = bool(changes.keys() & FILTERED_FIELDS)
        # What is as large as before isn't refused because a limit is narrower now: it may end, or be replaced.
        policy = access.policy if is_rewritten else NO_LIMITS
        check_bound(policy, params.value, key=params.key, metadata=params.metadata)
        check_params(params)
        if is_rewritten:
            load = partial(ingress_gate.load_contents, access, namespace)
            admission = ingress_gate.check_amendment(params, load, ingress_gate.get_writer(caller))
            params = admission.params
            access.detail.update(admission.detail)
        size = check_value(policy, params.value, key=params.key, metadata=params.metadata)
        access.detail.update(key=hash_key(params.key), bytes=size)
        if params.key != entry.key:
            context = replace(context, operation=Operation.STORE)
        entry, before = rows.write(namespace, params, context, access.policy, state)
        access.detail.update(entry=str(entry.pk), before=before, after=entry.revision, keys=1)
        return rows.build_entry(entry, namespace.text)


@retry_on_conflict
def retire_entry(
    caller: MemoryCaller,
    entry: MemoryEntry,
    *,
    successor: str,
    moment: datetime,
    reason: str = "",
    lookup: NamespaceLookup | None = None,
) -> MemoryEntry:
    """Let an entry end at the moment, because its successor, which was just stored, takes its place; return it as it is now.

    Without a successor it just ends. Raise RevisionConflict if it isn't any more as it was read.
    """
    with open_namespace(
        caller, "write", "memory.edited", namespace=entry.namespace, lookup=lookup
    ) as access:
        context = access.build_context(Operation.EDIT, reason)
        if not successor:  # whoever stored that has locked the namespace
            access.claim_to_write(entry.key, context)
        revision = rows.retire(entry, context, valid_until=moment, replaced_by=successor)
        if revision is None:
            raise RevisionConflict(_("Someone else changed this in the meantime."))
        detail = {"key": hash_key(entry.key), "before": entry.revision, "after": revision}
        access.detail.update(entry=entry.id, keys=1, **detail)
        return replace(
            entry,
            valid_until=moment,
            replaced_by=successor,
            revision=revision,
            updated_at=context.at,
        )


def check_revision(entry: Entry, if_revision: int) -> None:
    if entry.revision != if_revision:
        raise RevisionConflict(
            f"The entry was changed in the meantime: it is at revision {entry.revision}, "
            f"not {if_revision}."
        )


def _build_params(access: NamespaceAccess, entry: Entry, changes: Mapping[str, Any]) -> StoreParams:
    content = {**get_state(entry, CONTENT), **changes}
    content["tier"] = parse_tier(changes.get("tier") or entry.tier)
    seconds_left = (entry.expires_at - access.now).total_seconds() if entry.expires_at else None
    # Whoever changes tags or the tier has not written the value.
    is_same_value = is_same_json(content["value"], entry.value)
    if not is_same_value:
        content["metadata"] = drop_approval(content["metadata"])
    editor = Source(access.caller.principal.actor, entry.source_run, entry.source_node)
    return StoreParams(
        namespace=access.text,
        key=entry.key,
        ttl_seconds=seconds_left,
        source=rows.build_source(entry) if is_same_value else editor,
        **content,
    )
