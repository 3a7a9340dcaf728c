"""Rebuilds the postings of existing entries, for example for a new tokenizer.

It is plain SQL over a given connection, so that it does not depend on the models. Existing numbers, groups and
positions stay; entries without them get them in the order of creation.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from config.sql import read_queries
from memory.core.recall.groups import get_group
from memory.providers.postgres.postings import (
    BLOCK_SIZE,
    REGISTER,
    PostingChanges,
    PostingRow,
    compute_next_number,
)


QUERIES: Final = read_queries("memory/sql/queries/postings.sql")


@dataclass(frozen=True, slots=True)
class NumberedEntry:
    """An entry with its number in the postings. ``predecessor`` is set only if the number is new."""

    id: UUID
    number: int
    text: str
    is_searched: bool
    is_new: bool
    predecessor: int | None = None
    group: str = ""
    position: int = 0


def rebuild_postings(connection: Any, team_id: UUID, namespace_id: UUID) -> int:
    """Rebuild the postings of a namespace and return the number of its entries.

    The caller holds the transaction and has set its team for row-level security.
    """
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["lock_namespace"], [namespace_id])
        cursor.execute(QUERIES["register"], [namespace_id])
        registers = {block: bytes(register) for block, register in cursor.fetchall()}
        entries = _number_entries(cursor, team_id, namespace_id)
        cursor.execute(QUERIES["delete_terms"], [namespace_id])
        for rows in build_rows(entries, registers):
            columns = [[row[n] for row in rows] for n in range(3)]
            cursor.execute(QUERIES["save"], [team_id, namespace_id, *columns])
    return len(entries)


def build_rows(
    entries: Iterable[NumberedEntry], registers: dict[int, bytes]
) -> Iterator[list[PostingRow]]:
    """Yield the rows of each block. Only one block of entries is in memory as postings at a time."""
    ordered_entries = sorted(entries, key=lambda entry: entry.number)
    for block, members in groupby(ordered_entries, key=lambda entry: entry.number // BLOCK_SIZE):
        changes = PostingChanges()
        for entry in members:
            if entry.is_new:
                changes.add_number(entry.number, entry.predecessor)
            if entry.is_searched:
                changes.add(entry.number, entry.text)
            elif not entry.is_new:
                changes.take_out(entry.number, "")
        # Only the register is stored: the rows of the terms were deleted before.
        stored_rows = {(REGISTER, block): registers.get(block, b"")}
        rows = changes.list_rows(lambda _keys: stored_rows)  # noqa: B023 - called at once
        yield [row for row in rows if row[2]]


def _number_entries(cursor: Any, team_id: UUID, namespace_id: UUID) -> list[NumberedEntry]:
    allocator = NumberAllocator.load(cursor, namespace_id)
    cursor.execute(QUERIES["entries"], [namespace_id])
    entries = [allocator.number_entry(*row) for row in cursor.fetchall()]
    new_entries = [entry for entry in entries if entry.is_new]
    if new_entries:
        names = ("id", "number", "group", "position")
        columns = [[getattr(entry, name) for entry in new_entries] for name in names]
        cursor.execute(QUERIES["number_entries"], columns)
    if new_entries and allocator.groups:
        groups = [(name, *last_values) for name, last_values in allocator.groups.items()]
        columns = [list(column) for column in zip(*groups, strict=True)]
        cursor.execute(QUERIES["save_groups"], [team_id, namespace_id, *columns])
    return entries


@dataclass(slots=True)
class NumberAllocator:
    """Assigns numbers. ``groups`` has the last number and the last position of each group."""

    next_number: int
    groups: dict[str, tuple[int, int]]

    @classmethod
    def load(cls, cursor: Any, namespace_id: UUID) -> "NumberAllocator":
        cursor.execute(QUERIES["last_of_register"], [namespace_id])
        last_row = cursor.fetchone()
        cursor.execute(QUERIES["groups"], [namespace_id])
        groups = {name: (number, position) for name, number, position in cursor.fetchall()}
        return cls(compute_next_number(*last_row) if last_row else 0, groups)

    def number_entry(
        self, id_: UUID, number: int | None, text: str, metadata: Any, is_searched: bool
    ) -> NumberedEntry:
        """Return the entry with its number or, without one, with the next number and its position in its group."""
        if number is not None:
            return NumberedEntry(id_, number, text, is_searched, is_new=False)
        parsed_metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
        group, number = get_group(parsed_metadata), self.next_number
        self.next_number += 1
        if not group:
            return NumberedEntry(id_, number, text, is_searched, is_new=True)
        predecessor, position = self.groups.get(group, (None, 0))
        self.groups[group] = (number, position + 1)
        return NumberedEntry(id_, number, text, is_searched, True, predecessor, group, position + 1)
