"""The import of entries with their revisions from a file, many at once, with their neighbours in each group.

As with ``rows``, the caller holds the transaction and the namespace's lock, and has checked the limits.
"""

import hashlib
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from memory.core.recall.groups import get_group
from memory.models import Entry, Namespace, Revision
from memory.providers.postgres.indexing import Index


# Recall looks at most two positions away, so a longer gap can be shortened.
SHORTENED_GAP: Final = 4
MAX_GAP: Final = 16


@dataclass(slots=True)
class ImportedEntry:
    """An entry with its revisions. ``position`` and the revisions' positions are those in the source."""

    entry: Entry
    position: int
    revisions: list[Revision] = field(default_factory=list)


def import_entries(
    namespace: Namespace, imports: Sequence[ImportedEntry], shifts: MutableMapping[str, int]
) -> None:
    """Import the entries, which are in the order of their numbers in the source.

    ``shifts`` is a mapping for all batches: by group, the difference between the positions here and in the source.
    """
    index = _ImportIndex(namespace, shifts)
    for imported in imports:
        index.add_imported(imported)
    Entry.objects.unscoped().bulk_create(imported.entry for imported in imports)
    index.save()
    Revision.objects.unscoped().bulk_create(
        revision for imported in imports for revision in imported.revisions
    )


def reserve_positions(
    namespace: Namespace, group: str, last_position: int, shifts: MutableMapping[str, int]
) -> None:
    """Reserve the positions at the end of a group whose entries no longer exist, up to the source's last position."""
    index = _ImportIndex(namespace, shifts)
    index.reserve_until(group, last_position)
    index.save()


def derive_id(namespace: Namespace, source_id: UUID) -> UUID:
    """Return the id in this namespace for an id of the source. It has the same timestamp, so that ties keep their order."""
    digest = hashlib.sha256(namespace.pk.bytes + source_id.bytes).digest()
    tail = int.from_bytes(digest[:8]) & (1 << 62) - 1
    return UUID(int=(source_id.int >> 64) << 64 | 0b10 << 62 | tail)


class _ImportIndex(Index):
    """An index that gives imported entries the neighbours that they have in the source."""

    def __init__(self, namespace: Namespace, shifts: MutableMapping[str, int]) -> None:
        super().__init__(namespace)
        self._shifts = shifts

    def add_imported(self, imported: ImportedEntry) -> None:
        group = get_group(imported.entry.metadata)
        if group and imported.position:
            self.reserve_until(group, imported.position - 1)
        self.put_in(imported.entry)
        shift = self._shifts.get(group, 0)
        for revision in imported.revisions:
            if revision.position == imported.position:
                revision.position = imported.entry.position
            else:
                revision.position = max(0, revision.position + shift) if group else 0

    def reserve_until(self, group: str, position: int) -> None:
        """Reserve the group's positions up to this position of the source; a long gap is shortened."""
        row = self._load_group(group)
        shift = self._shifts.setdefault(group, row.last_position)
        gap = position + shift - row.last_position
        if gap > MAX_GAP:
            self._shifts[group] = shift - (gap - SHORTENED_GAP)
            gap = SHORTENED_GAP
        for _ in range(gap):
            self._append_number(row)
