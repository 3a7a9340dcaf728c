"""An open door's namespace in the shape of a provider: what the logic does there is one transaction.

Policy and quota are asked at every write, revisions are made of each; permission was asked and the
row in the trail is written once, by the door. Nothing here waits, so ``at_once`` drives the logic.
"""

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from memory.core.policy import check_value
from memory.core.provider import check_query
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.values import check_params
from memory.models import Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.past import as_it_was
from memory.providers.postgres.provider import search
from memory.services.door import Door


T = TypeVar("T")


class WithinDoor:
    def __init__(self, door: Door, *, reason: str = "") -> None:
        self._door = door
        self._reason = reason
        self._row: Namespace | None = door.place.row
        self._written: set[str] = set()

    async def store(self, params: StoreParams) -> MemoryEntry:
        door = self._door
        check_params(params)
        check_value(door.policy, params.value)
        self._row = door.claim()
        if door.elsewhere is not None:
            return door.elsewhere.store(params)
        act = door.act(Operation.STORE, self._reason)
        if params.key in self._written:
            act = replace(act, origin_key="")  # a second time in one step is no repetition of it
        self._written.add(params.key)
        entry, _before = rows.write(self._row, params, act, door.policy)
        return rows.entry_of(entry, door.text)

    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        check_query(query)
        door = self._door
        if self._row is None:
            return []
        return (
            door.elsewhere.recall(query) if door.elsewhere else search(self._row, query, door.now)
        )

    async def delete(self, namespace: str, key: str) -> bool:
        door = self._door
        if door.elsewhere is not None:
            return door.lock() is not None and door.elsewhere.delete(namespace, key)
        row = door.lock()
        found = list(rows.living(row).filter(key=key)) if row else []
        if row and found:
            self._written.discard(key)
            rows.forget(row, found, door.act(Operation.FORGET, self._reason))
        return bool(found)

    async def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        door, row = self._door, self._row
        if row is None:
            return []
        if door.elsewhere is not None:
            return door.elsewhere.history(namespace, key)
        living = rows.living(row).exclude(expires_at__lte=door.now).filter(key=key).first()
        if living is None:
            return []
        past = Revision.objects.unscoped().filter(entry=living).order_by("number")
        return [as_it_was(rows.entry_of(living, row.text), one) for one in past]


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """What waits for nothing ends at its first step."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # what the coroutine returned
    work.close()
    raise RuntimeError("a namespace within its door waited")
