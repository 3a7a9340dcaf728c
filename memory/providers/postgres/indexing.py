"""Writing postings, in the transaction of the entries they are of, under their namespace's lock."""

import json
from collections.abc import Sequence
from typing import Final

from django.db import connection

from config.sql import named_call, read_queries
from memory.core.recall.groups import group_of
from memory.core.records import Tier
from memory.models import Entry, Group, Namespace
from memory.providers.postgres.postings import BLOCK, Changes, Key, Row, seats_in
from memory.providers.postgres.vectors import Noted


QUERIES: Final = read_queries("memory/sql/queries/postings.sql")

SAVE = f"SELECT {named_call('memory_save_postings', 'p_team', 'p_namespace', 'p_postings')}"


def is_searched(entry: Entry) -> bool:
    """Expired ones too, until the sweep: the moment is the question's, not the writer's."""
    return entry.deleted_at is None and entry.tier != Tier.QUARANTINE


class Index:
    """Changes of one namespace's entries, gathered, then saved as one.

    Before an entry changes it is taken out, afterwards put in.
    """

    def __init__(self, namespace: Namespace, next_number: int | None = None) -> None:
        """``next_number``: of who knows it already."""
        self._namespace = namespace
        self._changes = Changes()
        self._groups: dict[str, Group] = {}
        self._next = next_number
        self._meanings = Noted(namespace)

    def take_out(self, entry: Entry) -> None:
        if entry.number is not None and is_searched(entry):
            self._changes.take_out(entry.number, entry.text)
            self._meanings.take_out(entry)

    def put_in(self, entry: Entry) -> None:
        """Gives a number and a place to who has none, or has changed the group."""
        group = group_of(entry.metadata)
        if entry.number is None or entry.group != group:
            entry.number = self._seat(entry, group)
        if is_searched(entry):
            self._changes.add(entry.number, entry.text)
            self._meanings.put_in(entry)

    def save(self) -> None:
        postings = self.postings()
        if postings is not None:
            with connection.cursor() as cursor:
                cursor.execute(SAVE, [self._namespace.team_id, self._namespace.pk, postings])
        self.save_related()

    def postings(self) -> str | None:
        """Return the changed postings as JSON for ``memory_save_postings``, or None if there are none."""
        packed = self._changes.packed(self._read)
        rows = {
            "replaced": [row for row in packed.whole if row[2]],
            "appended": packed.tails,
            "removed": [row for row in packed.whole if not row[2]],
        }
        changed = {part: _columns(changed) for part, changed in rows.items() if changed}
        return json.dumps(changed) if changed else None

    def save_related(self) -> None:
        """Save what follows from the changes in other tables than that of postings."""
        self._meanings.save()
        self._save_groups()

    def _seat(self, entry: Entry, group: str) -> int:
        number, before = self._take_number(), None
        entry.group, entry.position = group, 0
        if group:
            row = self._group(group)
            before = None if row.last_number < 0 else row.last_number
            row.last_number, row.last_position = number, row.last_position + 1
            entry.position = row.last_position
        self._changes.seat(number, before)
        return number

    def _take_number(self) -> int:
        if self._next is None:
            with connection.cursor() as cursor:
                cursor.execute(QUERIES["last_of_register"], [self._namespace.pk])
                last = cursor.fetchone()
            self._next = number_after(*last) if last else 0
        self._next += 1
        return self._next - 1

    def _group(self, name: str) -> Group:
        if name not in self._groups:
            rows = Group.objects.unscoped().filter(namespace=self._namespace, name=name)
            self._groups[name] = rows.first() or Group(
                team_id=self._namespace.team_id,
                namespace=self._namespace,
                name=name,
                last_number=-1,
                last_position=0,
            )
        return self._groups[name]

    def _read(self, keys: Sequence[Key]) -> dict[Key, bytes]:
        with connection.cursor() as cursor:
            cursor.execute(QUERIES["read"], [*_texts(keys), self._namespace.pk])
            return {(term, block): bytes(packed) for term, block, packed in cursor.fetchall()}

    def _save_groups(self) -> None:
        if self._groups:
            Group.objects.unscoped().bulk_create(
                self._groups.values(),
                update_conflicts=True,
                unique_fields=["namespace", "name"],
                update_fields=["last_number", "last_position"],
            )


def number_after(block: int, size: int) -> int:
    """The next one, by the last row of the register."""
    return block * BLOCK + seats_in(size)


def _columns(rows: Sequence[Row]) -> dict[str, str]:
    terms, blocks = _texts([row[:2] for row in rows])
    return {"terms": terms, "blocks": blocks, "packed": ",".join(row[2].hex() for row in rows)}


def _texts(keys: Sequence[Key]) -> tuple[str, str]:
    return ",".join(term for term, _ in keys), ",".join(str(block) for _, block in keys)
