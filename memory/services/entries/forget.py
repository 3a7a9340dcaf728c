"""Forget one entry, several, or all of a namespace. Forgotten entries are kept, and undo restores them together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.core.filters import parse_filter
from memory.core.identifiers import normalize_key
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.models import Change, Entry, Namespace
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.filters import apply_filter
from memory.services.entries.edit import RevisionConflict
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import get_shared_namespace, hash_key, open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess, NamespaceLookup


MAX_ENTRIES = 5_000

# The UUID namespace from which the change ids of a run's steps are derived.
_STEP_NAMESPACE = UUID("5f1c8a52-7d0e-5b34-9c61-2a4be07f3d18")


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """The number of forgotten entries, and the id of the change, which is None if undo has nothing to restore."""

    count: int
    change_id: UUID | None


@retry_on_conflict
def forget(
    caller: MemoryCaller,
    *,
    entry_id: UUID | str | None = None,
    scope: str | None = None,
    namespace: str | None = None,
    key: str | None = None,
    filter: Mapping[str, Json] | None = None,  # noqa: A002 - the interface's name
    reason: str = "",
) -> ForgetResult:
    """Forget one entry by its id (NotFound if it is missing), or all that a key or a filter selects in a namespace."""
    if entry_id is not None:
        return forget_many(caller, entry_ids=[entry_id], reason=reason)
    check_selection(key, filter)
    with open_namespace(
        caller, "forget", "memory.forgotten", scope=scope, namespace=namespace
    ) as access:
        if key is not None:
            access.detail["key"] = hash_key(key)
        if (earlier := _find_earlier_result(access)) is not None:
            return earlier
        if access.external is not None:
            # An external provider records no changes that could be undone, so it deletes permanently.
            store = access.open_store()
            query = MemoryQuery(access.text, key=key, filter=filter, include_former=True)
            entries = store.recall(query)
            access.detail["keys"] = count = sum(
                store.delete(access.text, entry.key) for entry in entries
            )
            return ForgetResult(count, None)
        return forget_selected(access, lambda query: apply_selection(query, key, filter), reason)


@retry_on_conflict
def forget_many(
    caller: MemoryCaller,
    *,
    entry_ids: Sequence[UUID | str],
    reason: str = "",
) -> ForgetResult:
    """Forget entries of one namespace by id, all or none. Raise NotFound if one is missing or forgotten already."""
    check_entry_count(entry_ids)
    text = get_shared_namespace(caller, entry_ids)
    ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    with open_namespace(caller, "forget", "memory.forgotten", namespace=text) as access:
        forgotten = forget_selected(access, lambda query: query.filter(pk__in=ids), reason)
        if forgotten.count != len(ids):
            raise NotFound(_("Memory not found. It may have been forgotten already."))
        return forgotten


@retry_on_conflict
def forget_entries(
    caller: MemoryCaller,
    entries: Sequence[MemoryEntry],
    *,
    reason: str = "",
    lookup: NamespaceLookup | None = None,
) -> None:
    """Forget entries of one namespace, all or none. Raise RevisionConflict if one isn't any more as it was read."""
    with open_namespace(
        caller, "forget", "memory.forgotten", namespace=entries[0].namespace, lookup=lookup
    ) as access:
        context = access.build_context(
            Operation.FORGET, reason, change_id=_build_step_change_id(access)
        )
        namespace = access.target.row
        selected = rows.lock_unchanged(namespace, entries, context) if namespace else []
        if namespace is None or len(selected) < len(entries):
            raise RevisionConflict(_("Memory not found. It may have been forgotten already."))
        _forget(access, namespace, selected, context)


@retry_on_conflict
def clear(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    reason: str = "",
) -> ForgetResult:
    """Forget all entries of a namespace."""
    with open_namespace(
        caller, "forget", "memory.cleared", scope=scope, namespace=namespace
    ) as access:
        if access.external is not None:
            access.detail["keys"] = count = access.open_store().clear_namespace(access.text)
            access.on_external_write(count > 0)  # an empty namespace may be cleared again
            return ForgetResult(count, None)
        return forget_selected(access, lambda query: query, reason)


def check_selection(key: str | None, filter_: Mapping[str, Json] | None) -> None:
    if key is None and not filter_:
        raise InvalidInput("key: specify an entry, key, or filter.")


def check_entry_count(entry_ids: Sequence[UUID | str]) -> None:
    if not 1 <= len(entry_ids) <= MAX_ENTRIES:
        raise InvalidInput(f"entries: from 1 to {MAX_ENTRIES} at once.")


def apply_selection(
    query: QuerySet[Entry], key: str | None, filter_: Mapping[str, Json] | None
) -> QuerySet[Entry]:
    if key is not None:
        query = query.filter(key=normalize_key(key))
    return apply_filter(query, parse_filter(filter_))


def forget_selected(
    access: NamespaceAccess, select: Callable[[QuerySet[Entry]], QuerySet[Entry]], reason: str
) -> ForgetResult:
    """Forget the selected entries of an open namespace as one change. No change is recorded if there are none."""
    namespace = access.lock()
    if namespace is None:
        access.detail["keys"] = 0
        return ForgetResult(0, None)
    rows.expire(namespace, access.now)
    selected = list(select(rows.find_living(namespace)).order_by("id"))
    context = access.build_context(
        Operation.FORGET, reason, change_id=_build_step_change_id(access)
    )
    return _forget(access, namespace, selected, context)


def _forget(
    access: NamespaceAccess,
    namespace: Namespace,
    selected: Sequence[Entry],
    context: rows.WriteContext,
) -> ForgetResult:
    access.detail.update(keys=len(selected), entries=[str(entry.pk) for entry in selected[:50]])
    if not selected:
        return ForgetResult(0, None)
    access.detail["change"] = str(context.change_id)
    rows.forget(namespace, selected, context, is_change=True)
    return ForgetResult(len(selected), context.change_id)


def _build_step_change_id(access: NamespaceAccess) -> UUID | None:
    """Return the id for the change of a run's step, the same if it is repeated, or None outside of a step."""
    origin = access.caller.origin
    if not origin.idempotency_key:
        return None
    step = (origin.run_id, origin.node_id, origin.idempotency_key)
    return uuid5(_STEP_NAMESPACE, "\n".join(map(str, (access.caller.team_id, access.text, *step))))


def _find_earlier_result(access: NamespaceAccess) -> ForgetResult | None:
    """Return the result that this step of a run had before a crash, or None if it is not repeated."""
    change_id = _build_step_change_id(access)
    if change_id is None or access.lock() is None:
        return None
    change = Change.objects.unscoped().filter(team_id=access.caller.team_id, pk=change_id).first()
    if change is None:
        return None
    access.detail.update(keys=change.entry_count, change=str(change_id), repeated=True)
    return ForgetResult(change.entry_count, change_id)
