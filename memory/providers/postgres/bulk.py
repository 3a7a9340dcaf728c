"""Changing many entries of a namespace at once: as many statements for five hundred as for one.

As with ``rows``, the caller holds the transaction and the namespace's lock, and has read the entries under it.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from django.db import connection
from django.utils.translation import gettext as _

from config.sql import read_queries
from memory.core.errors import AlreadyExists
from memory.core.policy import MemorySecurityPolicy
from memory.core.values import size_of
from memory.models import Entry, Namespace, Revision
from memory.providers.postgres import rows
from memory.providers.postgres.indexing import Index
from memory.providers.postgres.fixed_queries import plain


QUERIES: Final = read_queries("memory/sql/queries/entries.sql")

# Bytes a statement: what PostgreSQL takes as one piece of JSON ends at 268 million.
CHUNK: Final = 16 * 1024 * 1024

Returning = tuple[Entry, Revision]  # an entry, and the revision it becomes again

# What no change and no undo sets.
FIXED: Final = frozenset({
    "team_id", "namespace_id", "key", "created_at",
    "source_actor", "source_run", "source_node", "source_message", "source_rule",
})  # fmt: skip
_COLUMNS: Final = [
    column.attname for column in Entry._meta.concrete_fields if column.attname not in FIXED
]

_UPDATE: Final = QUERIES["update_many"].format(
    assignments=", ".join(f'"{name}" = fresh."{name}"' for name in _COLUMNS if name != "id")
)


def revise(
    namespace: Namespace, entries: Sequence[Entry], act: rows.Act, change: Callable[[Entry], None]
) -> None:
    """``change`` sets what is new, anything but key and value; each is a revision further then."""
    index = Index(namespace)
    for entry in entries:
        index.take_out(entry)
        change(entry)
        entry.updated_at = act.at
        entry.revision += 1
        index.put_in(entry)
    _save(entries, index, act)


def put_back(
    namespace: Namespace, pairs: Sequence[Returning], act: rows.Act, policy: MemorySecurityPolicy
) -> None:
    """Each as its revision has it, as a new revision, or none. An end that has passed is dropped."""
    _check_keys(namespace, [entry for entry, _revision in pairs if entry.is_forgotten])
    sizes = [size_of(wanted.value) for _entry, wanted in pairs]
    freed = sum(entry.size for entry, _revision in pairs if not entry.is_forgotten)
    back = sum(entry.is_forgotten for entry, _revision in pairs)
    rows.take_room(namespace, policy, entries=back, size=sum(sizes) - freed)
    index = Index(namespace)
    for (entry, wanted), size in zip(pairs, sizes, strict=True):
        index.take_out(entry)
        rows.restore_state(entry, wanted, act, size)
        index.put_in(entry)
    _save([entry for entry, _revision in pairs], index, act)


def _check_keys(namespace: Namespace, returning: Sequence[Entry]) -> None:
    if not returning:
        return
    keys = [entry.key for entry in returning]
    taken = rows.living(namespace).filter(key__in=keys).order_by("key").first()
    if taken is not None:
        raise AlreadyExists(
            _("“%(key)s” was stored again since. Forget the new entry first.") % {"key": taken.key}
        )


def _save(entries: Sequence[Entry], index: Index, act: rows.Act) -> None:
    if not entries:
        return
    with connection.cursor() as cursor:
        for chunk in _chunks(entries):
            cursor.execute(_UPDATE, [f"[{','.join(chunk)}]"])
    index.save()
    rows.record_revisions(entries, act)


def _chunks(entries: Sequence[Entry]) -> Iterator[list[str]]:
    """The entries as JSON, at most ``CHUNK`` bytes at a time, or one that is larger by itself."""
    chunk: list[str] = []
    size = 0
    for entry in entries:
        fresh: dict[str, Any] = {name: getattr(entry, name) for name in _COLUMNS}  # any JSON
        text = json.dumps(fresh, default=plain)  # in ASCII: as many bytes as characters
        if chunk and size + len(text) > CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text)
    yield chunk
