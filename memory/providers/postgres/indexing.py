"""Writes the postings of entries, in the entries' transaction and under their namespace's lock."""

import json
from collections.abc import Sequence
from typing import Final

from django.db import connection

from config.sql import build_call, read_queries
from memory.core.recall.groups import get_group
from memory.core.records import Tier
from memory.models import Entry, Group, Namespace
from memory.providers.postgres.postings import (
    PostingChanges,
    PostingKey,
    PostingRow,
    compute_next_number,
)
from memory.providers.postgres.vectors import VectorChanges


QUERIES: Final = read_queries("memory/sql/queries/postings.sql")

SAVE_POSTINGS = "SELECT " + build_call(
    "memory_save_postings", "p_team", "p_namespace", "p_postings"
)


def is_searched(entry: Entry) -> bool:
    """Return whether the entry has postings. Expired ones have them until they are removed; each search skips them."""
    return entry.deleted_at is None and entry.tier != Tier.QUARANTINE


class Index:
    """Collects the changes of one namespace's postings and saves them together.

    Call ``take_out`` before an entry changes, and ``put_in`` afterwards.
    """

    def __init__(self, namespace: Namespace, next_number: int | None = None) -> None:
        """Collect changes of the namespace. Pass ``next_number``, the first free number, if it has been read already."""
        self._namespace = namespace
        self._changes = PostingChanges()
        self._groups: dict[str, Group] = {}
        self._next_number = next_number
        self._vectors = VectorChanges(namespace)

    def take_out(self, entry: Entry) -> None:
        if entry.number is not None and is_searched(entry):
            self._changes.take_out(entry.number, entry.text)
            self._vectors.take_out(entry)

    def put_in(self, entry: Entry) -> None:
        """Add the entry, with a new number and position if it has none yet or its group has changed."""
        group = get_group(entry.metadata)
        if entry.number is None or entry.group != group:
            entry.number = self._assign_number(entry, group)
        if is_searched(entry):
            self._changes.add(entry.number, entry.text)
            self._vectors.put_in(entry)

    def save(self) -> None:
        if (postings := self.build_postings()) is not None:
            team_id, namespace_id = self._namespace.team_id, self._namespace.pk
            with connection.cursor() as cursor:
                cursor.execute(SAVE_POSTINGS, [team_id, namespace_id, postings])
        self.save_related()

    def build_postings(self) -> str | None:
        """Return the changed postings as JSON for ``memory_save_postings``, or None if there are none."""
        rows = self._changes.pack_rows(self._read_postings)
        rows_by_kind = {
            "replaced": [row for row in rows.replaced if row[2]],
            "appended": rows.appended,
            "removed": [row for row in rows.replaced if not row[2]],
        }
        document = {kind: _build_columns(group) for kind, group in rows_by_kind.items() if group}
        return json.dumps(document) if document else None

    def take_due_vectors(self) -> tuple[object, ...] | None:
        """Return what the caller saves with the entry, as ``VectorChanges.take_due`` does."""
        return self._vectors.take_due()

    def save_related(self) -> None:
        """Save the vectors and groups that follow from the changes."""
        self._vectors.save()
        self._save_groups()

    def _assign_number(self, entry: Entry, group: str) -> int:
        entry.group, entry.position = group, 0
        if not group:
            number = self._allocate_number()
            self._changes.add_number(number, None)
            return number
        row = self._load_group(group)
        number = self._append_number(row)
        entry.position = row.last_position
        return number

    def _append_number(self, row: Group) -> int:
        """Append a number to the group, at its next position, and return it."""
        number, predecessor = self._allocate_number(), row.last_number
        row.last_number, row.last_position = number, row.last_position + 1
        self._changes.add_number(number, None if predecessor < 0 else predecessor)
        return number

    def _allocate_number(self) -> int:
        if self._next_number is None:
            with connection.cursor() as cursor:
                cursor.execute(QUERIES["last_of_register"], [self._namespace.pk])
                last_row = cursor.fetchone()
            self._next_number = compute_next_number(*last_row) if last_row else 0
        self._next_number += 1
        return self._next_number - 1

    def _load_group(self, name: str) -> Group:
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

    def _read_postings(self, keys: Sequence[PostingKey]) -> dict[PostingKey, bytes]:
        with connection.cursor() as cursor:
            cursor.execute(QUERIES["read"], [*_join_keys(keys), self._namespace.pk])
            return {(term, block): bytes(postings) for term, block, postings in cursor.fetchall()}

    def _save_groups(self) -> None:
        if self._groups:
            Group.objects.unscoped().bulk_create(
                self._groups.values(),
                update_conflicts=True,
                unique_fields=["namespace", "name"],
                update_fields=["last_number", "last_position"],
            )


def _build_columns(rows: Sequence[PostingRow]) -> dict[str, str]:
    terms, blocks = _join_keys([row[:2] for row in rows])
    return {"terms": terms, "blocks": blocks, "packed": ",".join(row[2].hex() for row in rows)}


def _join_keys(keys: Sequence[PostingKey]) -> tuple[str, str]:
    return ",".join(term for term, _ in keys), ",".join(str(block) for _, block in keys)
