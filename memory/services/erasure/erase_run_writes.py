"""Erase what runs for a person wrote into memory that others share, found by its provenance.

An entry in whose history are only values of these runs is erased. If others have put words into it, a person has to
decide: it stays, and the receipt names it. ``run_words`` tells whose words an entry has.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final, Self
from uuid import UUID

from config.retry import retry_on_conflict
from memory.core.errors import Serialization
from memory.logic.knowledge.pages import PAGE_CATEGORY
from memory.logic.knowledge.wiki_sources import (
    SOURCE_CATEGORY,
    SourceKind,
    is_source,
    read_source,
)
from memory.logic.wiki.log import get_text
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.erasure.erase_sources import erase_entries, open_namespace
from memory.services.erasure.run_words import list_entries_with_words
from memory.services.gateway.caller import MemoryCaller


RUN_WRITES: Final = "memory_entry_of_runs"  # counted in the receipt like a table
TO_DECIDE: Final = "memory_entry_to_decide"  # among what is kept


@dataclass(frozen=True, slots=True)
class RunWrites:
    """The entries that runs for a person wrote: with words of these runs only, and with words of others, too."""

    erasable: tuple[Entry, ...] = ()
    mixed: tuple[Entry, ...] = ()

    @property
    def namespaces(self) -> set[str]:
        return {entry.namespace.text for entry in self.erasable}


def find_run_writes(
    team_id: UUID, run_ids: Sequence[str], erased: Iterable[UUID] = ()
) -> RunWrites:
    """Find the entries outside of the namespaces that are erased as a whole.

    Sources, and the pages that were written from them, are left out: ``erase_sources`` removes from them what is the
    person's. An entry that merely looks like one of them is none.
    """
    if not run_ids:
        return RunWrites()
    entries = list_entries_with_words(team_id, run_ids, list(erased))
    wiki = _Wiki.of(team_id, [each.entry for each in entries])
    erasable: list[Entry] = []
    mixed: list[Entry] = []
    for each in entries:
        if not wiki.contains(each.entry):
            (mixed if each.has_words_of_others else erasable).append(each.entry)
    return RunWrites(tuple(erasable), tuple(mixed))


@retry_on_conflict
def erase_run_writes(caller: MemoryCaller, writes: RunWrites) -> dict[str, int]:
    for _namespace, group in groupby(writes.erasable, attrgetter("namespace_id")):
        entries = list(group)
        erase_entries(open_namespace(caller, entries[0].namespace), entries)
    return {RUN_WRITES: len(writes.erasable)}


@dataclass(frozen=True, slots=True)
class _Wiki:
    """The sources of wikis: the namespace and the id of each, also of those that are forgotten or in quarantine."""

    source_ids: frozenset[tuple[UUID, str]]

    @classmethod
    def of(cls, team_id: UUID, entries: Iterable[Entry]) -> Self:
        """Load the sources of the namespaces in which these entries look like pages."""
        namespaces = {entry.namespace_id for entry in entries if entry.category == PAGE_CATEGORY}
        if not namespaces:
            return cls(frozenset())
        rows_of_sources = Entry.objects.unscoped().filter(
            team_id=team_id, namespace__in=namespaces, category=SOURCE_CATEGORY
        )
        sources = filter(_is_source, rows_of_sources.select_related("namespace"))
        return cls(frozenset((row.namespace_id, get_text(row.value, "id")) for row in sources))

    def contains(self, entry: Entry) -> bool:
        """Return whether the entry is a source, or a page of which every source is one of this namespace."""
        if entry.category == SOURCE_CATEGORY:
            return _is_source(entry)
        sources = entry.value.get("sources") if isinstance(entry.value, dict) else None
        if entry.category != PAGE_CATEGORY or not isinstance(sources, list):
            return False
        ids = [(entry.namespace_id, get_text(source, "id")) for source in sources]
        return bool(ids) and all(id_ in self.source_ids for id_ in ids)


def _is_source(row: Entry) -> bool:
    """Return whether the entry is a source that says whose words it has, or that has those of a page or a document."""
    entry = rows.build_entry(row, row.namespace.text)
    try:
        source = read_source(entry)
    except Serialization:
        return False
    is_of_nobody = source.kind in (SourceKind.URL, SourceKind.DOCUMENT)
    return is_source(entry) and bool(source.person or is_of_nobody)
