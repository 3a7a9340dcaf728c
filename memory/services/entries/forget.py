"""Forget: soft, and undone as one, whether one entry, a filter's, a choice of them, or all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, NotFound
from memory.core.filters import parse_filter
from memory.core.records import Json, MemoryQuery
from memory.models import Change, Entry
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.filters import narrowed
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway, key_hash
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.gateway.single_namespace import get_shared_namespace


MOST_AT_ONCE = 5_000

# Of the ids of changes that steps of runs make.
_STEPS = UUID("5f1c8a52-7d0e-5b34-9c61-2a4be07f3d18")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """``change_id`` is what undo takes; none when there was nothing to forget."""

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
    filter: Mapping[str, Json] | None = None,  # noqa: A002 - the contract's word
    reason: str = "",
) -> Forgotten:
    """One entry by its id (missing: NotFound), or what a key or a filter names in a namespace."""
    if entry_id is not None:
        return forget_many(caller, entry_ids=[entry_id], reason=reason)
    check_chosen(key, filter)
    with MemoryGateway(caller).open_namespace(
        "forget", "memory.forgotten", scope=scope, namespace=namespace
    ) as access:
        if key is not None:
            access.detail["key"] = key_hash(key)
        if (repeated := _find_repeated(access)) is not None:
            return repeated
        if access.external is not None:
            return _forget_externally(access, key, filter)
        return forget_chosen(access, lambda query: filter_by(query, key, filter), reason)


@retry_on_conflict
def forget_many(
    caller: MemoryCaller, *, entry_ids: Sequence[UUID | str], reason: str = ""
) -> Forgotten:
    """Entries of one namespace, by id, all or none."""
    check_many(entry_ids)
    place = get_shared_namespace(caller, entry_ids)
    ids = {UUID(str(entry_id)) for entry_id in entry_ids}
    with MemoryGateway(caller).open_namespace(
        "forget", "memory.forgotten", namespace=place
    ) as access:
        forgotten = forget_chosen(access, lambda query: query.filter(pk__in=ids), reason)
        if forgotten.count != len(ids):
            raise NotFound(_("Memory not found. It may have been forgotten already."))
        return forgotten


@retry_on_conflict
def clear(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    reason: str = "",
) -> Forgotten:
    """Everything in a namespace."""
    with MemoryGateway(caller).open_namespace(
        "forget", "memory.cleared", scope=scope, namespace=namespace
    ) as access:
        if access.external is not None:
            count = access.store().clear_namespace(access.text)
            access.detail["keys"] = count
            access.on_external_write(count > 0)  # an empty namespace may be cleared again
            return Forgotten(count, None)
        return forget_chosen(access, lambda query: query, reason)


def check_chosen(key: str | None, filter_: Mapping[str, Json] | None) -> None:
    if key is None and not filter_:
        raise InvalidInput("key: specify an entry, key, or filter.")


def check_many(entry_ids: Sequence[UUID | str]) -> None:
    if not 1 <= len(entry_ids) <= MOST_AT_ONCE:
        raise InvalidInput(f"entries: from 1 to {MOST_AT_ONCE} at once.")


def filter_by(
    query: QuerySet[Entry], key: str | None, filter_: Mapping[str, Json] | None
) -> QuerySet[Entry]:
    if key is not None:
        query = query.filter(key=key)
    return narrowed(query, parse_filter(filter_))


def _forget_externally(
    access: NamespaceAccess, key: str | None, filter_: Mapping[str, Json] | None
) -> Forgotten:
    """Forget for good: what another provider keeps knows no change that could be undone."""
    store = access.store()
    entries = store.recall(MemoryQuery(access.text, key=key, filter=filter_))
    count = sum(store.delete(access.text, entry.key) for entry in entries)
    access.detail["keys"] = count
    return Forgotten(count, None)


def forget_chosen(
    access: NamespaceAccess, choose: Callable[[QuerySet[Entry]], QuerySet[Entry]], reason: str
) -> Forgotten:
    namespace = access.lock()
    if namespace is None:
        access.detail["keys"] = 0
        return Forgotten(0, None)
    rows.expire(namespace, access.now)
    chosen = list(choose(rows.living(namespace)).order_by("id"))
    access.detail.update(keys=len(chosen), entries=[str(entry.pk) for entry in chosen[:50]])
    if not chosen:
        return Forgotten(0, None)
    step = _of_step(access)
    change = access.change(namespace, Operation.FORGET, len(chosen), reason, change_id=step)
    access.detail["change"] = str(change.pk)
    rows.forget(namespace, chosen, access.act(Operation.FORGET, reason, change.pk))
    return Forgotten(len(chosen), change.pk)


def _of_step(access: NamespaceAccess) -> UUID | None:
    """The id of the change that this very step makes here: after a crash it finds what it did."""
    origin = access.caller.origin
    if not origin.idempotency_key:
        return None
    parts = (
        access.caller.team_id,
        access.text,
        origin.run_id,
        origin.node_id,
        origin.idempotency_key,
    )
    return uuid5(_STEPS, "\n".join(map(str, parts)))


def _find_repeated(access: NamespaceAccess) -> Forgotten | None:
    """The step again, after a crash: what it answered the first time."""
    change_id = _of_step(access)
    if change_id is None or access.lock() is None:
        return None
    change = Change.objects.unscoped().filter(team_id=access.caller.team_id, pk=change_id).first()
    if change is None:
        return None
    access.detail.update(keys=change.entry_count, change=str(change_id), repeated=True)
    return Forgotten(change.entry_count, change_id)
