"""Postings of entries that exist already, made anew for a new tokenizer.

Plain SQL over a connection, so that it means the same whatever the models become. Numbers, groups
and places that were given stay; who has none gets them in the order of creation.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from config.sql import read_queries
from memory.core.recall.groups import group_of
from memory.providers.postgres.postings import BLOCK, REGISTER, Changes, Key, Row, seats_in


QUERIES: Final = read_queries("memory/sql/queries/postings.sql")


@dataclass(frozen=True, slots=True)
class Seated:
    """An entry with its number; ``before`` is known for those that were seated just now."""

    id: UUID
    number: int
    text: str
    searched: bool
    fresh: bool
    before: int | None = None
    group: str = ""
    position: int = 0


def rebuild(connection: Any, team_id: UUID, namespace_id: UUID) -> int:
    """In the caller's transaction, behind the wall of its team. Says how many entries there were."""
    with connection.cursor() as cursor:
        cursor.execute(QUERIES["lock_namespace"], [namespace_id])
        cursor.execute(QUERIES["register"], [namespace_id])
        registers = {block: bytes(packed) for block, packed in cursor.fetchall()}
        entries = _seated(cursor, team_id, namespace_id)
        cursor.execute(QUERIES["delete_terms"], [namespace_id])
        for rows in rows_of(entries, registers):
            columns = [[row[n] for row in rows] for n in range(3)]
            cursor.execute(QUERIES["save"], [team_id, namespace_id, *columns])
    return len(entries)


def rows_of(entries: Iterable[Seated], registers: dict[int, bytes]) -> Iterator[list[Row]]:
    """Block by block, as no row spans two: a namespace of any size needs the memory of 256 entries."""
    in_order = sorted(entries, key=lambda one: one.number)
    for block, members in groupby(in_order, key=lambda one: one.number // BLOCK):
        changes = Changes()
        for one in members:
            if one.fresh:
                changes.seat(one.number, one.before)
            if one.searched:
                changes.add(one.number, one.text)
            elif not one.fresh:
                changes.take_out(one.number, "")
        known = {(REGISTER, block): registers.get(block, b"")}
        yield [row for row in changes.rows(partial(_known, known)) if row[2]]


def _known(rows: Mapping[Key, bytes], asked: Sequence[Key]) -> Mapping[Key, bytes]:
    """The rows of terms were dropped before, so only the register is read."""
    return rows


def _seated(cursor: Any, team_id: UUID, namespace_id: UUID) -> list[Seated]:
    seats = Seats.read(cursor, namespace_id)
    cursor.execute(QUERIES["entries"], [namespace_id])
    entries = [seats.seat(*row) for row in cursor.fetchall()]
    fresh = [one for one in entries if one.fresh]
    if fresh:
        cursor.execute(
            QUERIES["number_entries"], _columns(fresh, "id", "number", "group", "position")
        )
    if fresh and seats.groups:
        names = list(seats.groups)
        numbers = [seats.groups[name] for name in names]
        columns = [names, [number for number, _ in numbers], [place for _, place in numbers]]
        cursor.execute(QUERIES["save_groups"], [team_id, namespace_id, *columns])
    return entries


@dataclass(slots=True)
class Seats:
    """Who comes next, in the namespace and in each of its groups (last number, last place)."""

    next_number: int
    groups: dict[str, tuple[int, int]]

    @classmethod
    def read(cls, cursor: Any, namespace_id: UUID) -> "Seats":
        cursor.execute(QUERIES["last_of_register"], [namespace_id])
        last = cursor.fetchone()
        cursor.execute(QUERIES["groups"], [namespace_id])
        groups = {name: (number, place) for name, number, place in cursor.fetchall()}
        return cls(last[0] * BLOCK + seats_in(last[1]) if last else 0, groups)

    def seat(
        self, id_: UUID, number: int | None, text: str, metadata: Any, searched: bool
    ) -> Seated:
        if number is not None:
            return Seated(id_, number, text, searched, fresh=False)
        known = json.loads(metadata) if isinstance(metadata, str) else metadata
        group, number = group_of(known), self.next_number
        self.next_number += 1
        if not group:
            return Seated(id_, number, text, searched, fresh=True)
        before, place = self.groups.get(group, (None, 0))
        self.groups[group] = (number, place + 1)
        return Seated(id_, number, text, searched, True, before, group, place + 1)


def _columns(entries: Iterable[Seated], *names: str) -> list[list[Any]]:
    found = list(entries)
    return [[getattr(one, name) for one in found] for name in names]
