"""Find who wrote the value that an entry had at a revision, which isn't always who made the revision."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from config.sql import read_queries
from memory.core.records import MemoryEntry, Source
from memory.models import Entry
from memory.providers.postgres.fixed_queries import fetch_rows


QUERIES: Final = read_queries("memory/sql/queries/value_sources.sql")

Revisions = Iterable[tuple[UUID, int]]  # the id of an entry, and the number of a revision


def add_value_sources(entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Return entries of past revisions with the source of the value that each one shows."""
    sources = load_value_sources((UUID(entry.id), entry.revision) for entry in entries)
    return [
        replace(entry, source=sources.get((UUID(entry.id), entry.revision), entry.source))
        for entry in entries
    ]


def load_value_sources(revisions: Revisions) -> Mapping[tuple[UUID, int], Source]:
    """Return the source of the value at each revision, without revisions that don't exist."""
    rows = _fetch_writers(revisions)
    return {(entry_id, number): Source(*source) for entry_id, number, _run, *source in rows}


def load_value_runs(revisions: Revisions) -> Mapping[tuple[UUID, int], str]:
    """Return the run that wrote the value at each revision, or "" if it was written outside of runs."""
    return {(entry_id, number): run for entry_id, number, run, *_ in _fetch_writers(revisions)}


def _fetch_writers(revisions: Revisions) -> list[Any]:
    pairs = sorted(set(revisions))
    if not pairs:
        return []
    ids, numbers = zip(*pairs, strict=True)
    return fetch_rows(QUERIES["of_revisions"], [list(ids), list(numbers)])


def set_source(entry: Entry, source: Source) -> None:
    """Set the columns of the entry's source, without saving."""
    entry.source_actor, entry.source_run = source.actor, source.run_id
    entry.source_node, entry.source_message = source.node_id, source.message
    entry.source_rule = source.rule
