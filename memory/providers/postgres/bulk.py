"""Changes of many entries of a namespace at once, in few statements.

As with ``rows``, the caller holds the transaction and the namespace's lock, and has read the entries under that lock.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from django.db import connection
from django.utils.translation import gettext as _

from config.sql import read_queries
from memory.core.errors import AlreadyExists
from memory.core.policy import NO_LIMITS, MemorySecurityPolicy
from memory.core.values import count_entry_bytes
from memory.models import Entry, Namespace, Revision
from memory.providers.postgres import rows
from memory.providers.postgres.fixed_queries import encode_for_json
from memory.providers.postgres.indexing import Index
from memory.providers.postgres.value_sources import load_value_sources, set_source


QUERIES: Final = read_queries("memory/sql/queries/entries.sql")

RestorePair = tuple[Entry, Revision]  # an entry, and the revision to restore

# Bytes in one statement: PostgreSQL accepts up to 268 million in one JSON value.
CHUNK_BYTES: Final = 16 * 1024 * 1024

# Columns that keep their values when an entry is changed or restored.
FIXED_COLUMNS: Final = frozenset({"team_id", "namespace_id", "key", "created_at"})
_COLUMNS: Final = [
    column.attname for column in Entry._meta.concrete_fields if column.attname not in FIXED_COLUMNS
]

_UPDATE: Final = QUERIES["update_many"].format(
    assignments=", ".join(f'"{name}" = fresh."{name}"' for name in _COLUMNS if name != "id")
)


def revise(
    namespace: Namespace,
    entries: Sequence[Entry],
    context: rows.WriteContext,
    change: Callable[[Entry], None],
) -> None:
    """Call ``change`` with each entry and record a new revision. ``change`` may set any field but key and value.

    The limits are not checked: a review's decision is never refused for the few bytes that it adds.
    """
    index = Index(namespace)
    more_bytes = 0
    for entry in entries:
        index.take_out(entry)
        metadata = entry.metadata
        change(entry)
        if entry.metadata != metadata:
            old_size = entry.size
            entry.size = count_entry_bytes(entry.key, entry.value, entry.metadata)
            more_bytes += 0 if entry.is_forgotten else entry.size - old_size
        entry.updated_at = context.at
        entry.revision += 1
        index.put_in(entry)
    if more_bytes:
        rows.reserve_space(namespace, NO_LIMITS, entries=0, size=more_bytes)
    _save(entries, index, context)


def restore_entries(
    namespace: Namespace,
    pairs: Sequence[RestorePair],
    context: rows.WriteContext,
    policy: MemorySecurityPolicy,
) -> None:
    """Restore all entries to their revisions, as new revisions; raise AlreadyExists or QuotaExceeded and restore none."""
    forgotten = [entry for entry, _revision in pairs if entry.is_forgotten]
    _check_keys(namespace, forgotten)
    sizes = [
        count_entry_bytes(entry.key, revision.value, revision.metadata) for entry, revision in pairs
    ]
    freed_bytes = sum(entry.size for entry, _revision in pairs if not entry.is_forgotten)
    new_bytes = sum(sizes) - freed_bytes
    rows.reserve_space(
        namespace, policy, entries=len(forgotten), size=new_bytes, incoming=forgotten
    )
    index = Index(namespace)
    sources = load_value_sources((entry.pk, revision.number) for entry, revision in pairs)
    for (entry, revision), size in zip(pairs, sizes, strict=True):
        index.take_out(entry)
        if entry.value != revision.value and (entry.pk, revision.number) in sources:
            set_source(entry, sources[entry.pk, revision.number])
        rows.restore_state(entry, revision, context, size)
        index.put_in(entry)
    _save([entry for entry, _revision in pairs], index, context)


def _check_keys(namespace: Namespace, entries: Sequence[Entry]) -> None:
    if not entries:
        return
    keys = [entry.key for entry in entries]
    conflict = rows.find_living(namespace).filter(key__in=keys).order_by("key").first()
    if conflict is not None:
        message = _("“%(key)s” was stored again since. Forget the new entry first.")
        raise AlreadyExists(message % {"key": conflict.key})


def _save(entries: Sequence[Entry], index: Index, context: rows.WriteContext) -> None:
    if not entries:
        return
    with connection.cursor() as cursor:
        for chunk in _split_chunks(entries):
            cursor.execute(_UPDATE, [f"[{','.join(chunk)}]"])
    index.save()
    rows.record_revisions(entries, context)


def _split_chunks(entries: Sequence[Entry]) -> Iterator[list[str]]:
    """Yield the entries as JSON, at most ``CHUNK_BYTES`` in a chunk; a larger entry is a chunk of its own."""
    chunk: list[str] = []
    size = 0
    for entry in entries:
        columns: dict[str, Any] = {name: getattr(entry, name) for name in _COLUMNS}  # any JSON
        row_json = json.dumps(columns, default=encode_for_json)  # ASCII: one byte a character
        if chunk and size + len(row_json) > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(row_json)
        size += len(row_json)
    yield chunk
