"""The entries of one namespace for an act of many steps: one change, one row in the trail, undone as one."""

from collections.abc import Sequence
from uuid import UUID

from config.ids import uuid7
from memory.core.errors import InvalidInput
from memory.core.policy import check_value
from memory.core.provider import check_query
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.core.values import check_params
from memory.models import Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows
from memory.providers.postgres.past import as_it_was
from memory.providers.postgres.provider import search
from memory.services.door import Door


class OneAct:
    """Implements ``memory.logic.ports.Entries`` for an open door's namespace, and no other.

    As ``within.WithinDoor``, whose every write stands for itself: here each is a revision of the
    same change. The namespace is locked from the first moment. What another provider keeps has no change, and
    isn't undone; nor is it done twice (``door.opened``).
    """

    def __init__(self, door: Door, *, reason: str) -> None:
        self._door = door
        self._reason = reason
        self.change_id: UUID = uuid7()
        self.namespace = door.claim()
        self.stored: list[str] = []  # ids
        rows.expire(self.namespace, door.now)

    async def store(self, params: StoreParams) -> MemoryEntry:
        door = self._door
        self._check_place(params.namespace)
        check_params(params)
        check_value(door.policy, params.value)
        if door.elsewhere is not None:
            kept = door.elsewhere.store(params)
        else:
            act = door.act(Operation.STORE, self._reason, self.change_id)
            entry, _before = rows.write(self.namespace, params, act, door.policy)
            kept = rows.entry_of(entry, self.namespace.text)
        self.stored.append(kept.id)
        return kept

    async def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        self._check_place(query.namespace)
        check_query(query)
        if self._door.elsewhere is not None:
            return self._door.elsewhere.recall(query)
        return search(self.namespace, query, self._door.now)

    async def delete(self, namespace: str, key: str) -> bool:
        self._check_place(namespace)
        if self._door.elsewhere is not None:
            return self._door.elsewhere.delete(namespace, key)
        found = list(rows.living(self.namespace).filter(key=key))
        act = self._door.act(Operation.FORGET, self._reason, self.change_id)
        return bool(rows.forget(self.namespace, found, act))

    async def history(self, namespace: str, key: str) -> Sequence[MemoryEntry]:
        self._check_place(namespace)
        if self._door.elsewhere is not None:
            return list(self._door.elsewhere.history(namespace, key))
        living = rows.living(self.namespace).filter(key=key).first()
        if living is None:
            return []
        made = Revision.objects.unscoped().filter(entry=living).order_by("number")
        present = rows.entry_of(living, self.namespace.text)
        return [as_it_was(present, one) for one in made]

    def _check_place(self, namespace: str) -> None:
        if namespace != self.namespace.text:
            raise InvalidInput(f"namespace: the door is open to {self.namespace.text} alone.")
