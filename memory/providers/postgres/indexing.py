"""Writing postings, in the transaction of the entries they are of, under their namespace's lock."""

from collections.abc import Sequence

from django.db import connection

from memory.core.groups import group_of
from memory.core.records import Tier
from memory.models import Entry, Group, Namespace
from memory.providers.postgres.meanings import Noted
from memory.providers.postgres.postings import BLOCK, Changes, Key, Row, seats_in


# Lists travel as one text each, with commas, which no term has: a thousand elements cost as much as one.
READ = """
    SELECT term, block, packed FROM memory_posting
    JOIN unnest(string_to_array(%s, ','), string_to_array(%s, ',')::int[])
      AS wanted (wanted_term, wanted_block)
      ON term = wanted_term AND block = wanted_block
    WHERE namespace_id = %s
"""
POST = "SELECT memory_post(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
LAST = """
    SELECT block, octet_length(packed) FROM memory_posting
    WHERE namespace_id = %s AND term = '.' ORDER BY block DESC LIMIT 1
"""


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
        if any(postings):
            with connection.cursor() as cursor:
                cursor.execute(POST, [self._namespace.team_id, self._namespace.pk, *postings])
        self.save_beside()

    def postings(self) -> tuple[str, ...]:
        """What ``memory_post`` takes: whole rows, what goes to the end of others, and which are dropped."""
        packed = self._changes.packed(self._read)
        kept = [row for row in packed.whole if row[2]]
        gone = [row[:2] for row in packed.whole if not row[2]]
        return (*_rows(kept), *_rows(packed.tails), *_columns(gone))

    def save_beside(self) -> None:
        """What follows from it in other tables than that of postings."""
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
                cursor.execute(LAST, [self._namespace.pk])
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
            cursor.execute(READ, [*_columns(keys), self._namespace.pk])
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


def _rows(rows: Sequence[Row]) -> tuple[str, str, str]:
    return (*_columns([row[:2] for row in rows]), ",".join(row[2].hex() for row in rows))


def _columns(keys: Sequence[Key]) -> tuple[str, str]:
    return ",".join(term for term, _ in keys), ",".join(str(block) for _, block in keys)
