"""Forget: soft, and undone as one, whether one entry, a filter's, a choice of them, or all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid5

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from config.again import tried_again
from memory.core.errors import InvalidInput, NotFound
from memory.core.filters import parse_filter
from memory.core.records import Json, MemoryQuery
from memory.models import Change, Entry
from memory.models.entries import Operation
from memory.places import Elsewhere
from memory.providers.postgres import rows
from memory.providers.postgres.filters import narrowed
from memory.services.caller import MemoryCaller
from memory.services.door import Door, key_hash, opened
from memory.services.one_place import shared_place


MOST_AT_ONCE = 5_000

# Of the ids of changes that steps of runs make.
_STEPS = UUID("5f1c8a52-7d0e-5b34-9c61-2a4be07f3d18")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """``change_id`` is what undo takes; none when there was nothing to forget."""

    count: int
    change_id: UUID | None


@tried_again
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
    with opened(caller, "forget", "memory.forgotten", scope=scope, namespace=namespace) as door:
        if key is not None:
            door.detail["key"] = key_hash(key)
        if (done := _done_before(door)) is not None:
            return done
        if door.elsewhere is not None:
            return _forgotten_there(door, door.elsewhere, key, filter)
        return forget_chosen(door, lambda found: named_by(found, key, filter), reason)


@tried_again
def forget_many(
    caller: MemoryCaller, *, entry_ids: Sequence[UUID | str], reason: str = ""
) -> Forgotten:
    """Entries of one namespace, by id, all or none."""
    check_many(entry_ids)
    place = shared_place(caller, entry_ids)
    wanted = {UUID(str(one)) for one in entry_ids}
    with opened(caller, "forget", "memory.forgotten", namespace=place) as door:
        forgotten = forget_chosen(door, lambda found: found.filter(pk__in=wanted), reason)
        if forgotten.count != len(wanted):
            raise NotFound(_("There is no such memory; it may be forgotten already."))
        return forgotten


@tried_again
def clear(
    caller: MemoryCaller,
    *,
    scope: str | None = None,
    namespace: str | None = None,
    reason: str = "",
) -> Forgotten:
    """Everything in a namespace."""
    with opened(caller, "forget", "memory.cleared", scope=scope, namespace=namespace) as door:
        if door.elsewhere is not None:
            gone = door.elsewhere.clear_namespace(door.text) if door.lock() else 0
            door.detail["keys"] = gone
            return Forgotten(gone, None)
        return forget_chosen(door, lambda found: found, reason)


def check_chosen(key: str | None, filter_: Mapping[str, Json] | None) -> None:
    if key is None and not filter_:
        raise InvalidInput("key: say which memory to forget, by entry, key or filter.")


def check_many(entry_ids: Sequence[UUID | str]) -> None:
    if not 1 <= len(entry_ids) <= MOST_AT_ONCE:
        raise InvalidInput(f"entries: from 1 to {MOST_AT_ONCE} at once.")


def named_by(
    found: QuerySet[Entry], key: str | None, filter_: Mapping[str, Json] | None
) -> QuerySet[Entry]:
    if key is not None:
        found = found.filter(key=key)
    return narrowed(found, parse_filter(filter_))


def _forgotten_there(
    door: Door, there: Elsewhere, key: str | None, filter_: Mapping[str, Json] | None
) -> Forgotten:
    """What is kept elsewhere is gone for good: there is no change to undo."""
    found = []
    if door.lock() is not None:
        found = there.recall(MemoryQuery(door.text, key=key, filter=filter_))
    gone = sum(there.delete(door.text, entry.key) for entry in found)
    door.detail["keys"] = gone
    return Forgotten(gone, None)


def forget_chosen(
    door: Door, choose: Callable[[QuerySet[Entry]], QuerySet[Entry]], reason: str
) -> Forgotten:
    namespace = door.lock()
    if namespace is None:
        door.detail["keys"] = 0
        return Forgotten(0, None)
    rows.expire(namespace, door.now)
    chosen = list(choose(rows.living(namespace)).order_by("id"))
    door.detail.update(keys=len(chosen), entries=[str(one.pk) for one in chosen[:50]])
    if not chosen:
        return Forgotten(0, None)
    step = _of_step(door)
    change = door.change(namespace, Operation.FORGET, len(chosen), reason, change_id=step)
    door.detail["change"] = str(change.pk)
    rows.forget(namespace, chosen, door.act(Operation.FORGET, reason, change.pk))
    return Forgotten(len(chosen), change.pk)


def _of_step(door: Door) -> UUID | None:
    """The id of the change that this very step makes here: after a crash it finds what it did."""
    origin = door.caller.origin
    if not origin.idempotency_key:
        return None
    said = (door.caller.team_id, door.text, origin.run_id, origin.node_id, origin.idempotency_key)
    return uuid5(_STEPS, "\n".join(map(str, said)))


def _done_before(door: Door) -> Forgotten | None:
    """The step again, after a crash: what it answered the first time."""
    made = _of_step(door)
    if made is None or door.lock() is None:
        return None
    change = Change.objects.unscoped().filter(team_id=door.caller.team_id, pk=made).first()
    if change is None:
        return None
    door.detail.update(keys=change.entry_count, change=str(made), repeated=True)
    return Forgotten(change.entry_count, made)
