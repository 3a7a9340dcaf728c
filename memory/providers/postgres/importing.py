"""Entries that bring their past with them: from a file, many at once, each beside those it stood beside.

As with ``rows``, the caller holds the transaction and the namespace's lock, and has asked about room.
"""

import hashlib
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from memory.core.recall.groups import group_of
from memory.models import Entry, Group, Namespace, Revision
from memory.providers.postgres.indexing import Index


# Nobody lends to, nor is context of, who stands further away than two places.
EMPTY: Final = 4
MOST_EMPTY: Final = 16


@dataclass(slots=True)
class Brought:
    """``position`` is its place in the group over there; a revision's stands in the revision."""

    entry: Entry
    position: int
    revisions: list[Revision] = field(default_factory=list)


def bring(
    namespace: Namespace, brought: Sequence[Brought], shifts: MutableMapping[str, int]
) -> None:
    """In the order given, which is the order of their numbers over there.

    ``shifts`` says by group how far places are moved here; it is kept from one batch to the next.
    """
    index = _Seats(namespace, shifts)
    for one in brought:
        index.seat(one)
    Entry.objects.unscoped().bulk_create(one.entry for one in brought)
    index.save()
    Revision.objects.unscoped().bulk_create(
        revision for one in brought for revision in one.revisions
    )


def leave_empty(
    namespace: Namespace, group: str, last: int, shifts: MutableMapping[str, int]
) -> None:
    """The places at the end of a group from which everybody has gone."""
    index = _Seats(namespace, shifts)
    index.leave_until(group, last)
    index.save()


def moved_id(namespace: Namespace, old: UUID) -> UUID:
    """An id of this namespace's for one from elsewhere: as old as it, so that equals keep their order."""
    digest = hashlib.sha256(namespace.pk.bytes + old.bytes).digest()
    tail = int.from_bytes(digest[:8]) & (1 << 62) - 1
    return UUID(int=(old.int >> 64) << 64 | 0b10 << 62 | tail)


class _Seats(Index):
    def __init__(self, namespace: Namespace, shifts: MutableMapping[str, int]) -> None:
        super().__init__(namespace)
        self._shifts = shifts

    def seat(self, one: Brought) -> None:
        group = group_of(one.entry.metadata)
        if group and one.position:
            self.leave_until(group, one.position - 1)
        self.put_in(one.entry)
        shift = self._shifts.get(group, 0)
        for revision in one.revisions:
            same = revision.position == one.position
            revision.position = (
                one.entry.position if same else max(0, revision.position + shift) * bool(group)
            )

    def leave_until(self, group: str, position: int) -> None:
        row = self._group(group)
        shift = self._shifts.setdefault(group, row.last_position)
        gap = position + shift - row.last_position
        if gap > MOST_EMPTY:
            self._shifts[group] = shift - (gap - EMPTY)
            gap = EMPTY
        for _ in range(gap):
            self._leave_one(row)

    def _leave_one(self, row: Group) -> None:
        before = None if row.last_number < 0 else row.last_number
        number = self._take_number()
        row.last_number, row.last_position = number, row.last_position + 1
        self._changes.seat(number, before)
