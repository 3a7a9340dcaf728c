"""Erase what runs for a person wrote into memory that others share, found by its provenance.

An entry in whose history are only values of these runs is erased. If others have put words into it, a person has to
decide: it stays, and the receipt names it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final
from uuid import UUID

from config.retry import retry_on_conflict
from memory.core.records import Json
from memory.logic.knowledge.wiki_sources import SOURCE_CATEGORY
from memory.models import Entry, Revision
from memory.models.entries import Operation
from memory.services.erasure.erase_sources import erase_entries, open_namespace
from memory.services.gateway.caller import MemoryCaller


RUN_WRITES: Final = "memory_entry_of_runs"  # counted in the receipt like a table
TO_DECIDE: Final = "memory_entry_to_decide"  # among what is kept
_WRITING: Final = (Operation.STORE, Operation.EDIT)


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

    Pages with sources, and the sources, are left out: ``erase_sources`` removes from them what is the person's.
    """
    if not run_ids:
        return RunWrites()
    revisions = Revision.objects.unscoped().filter(
        team_id=team_id, run_id__in=list(run_ids), operation__in=_WRITING
    )
    entries = (
        Entry.objects.unscoped()
        .filter(team_id=team_id, pk__in=revisions.values("entry_id"))
        .exclude(namespace__in=list(erased))
        .exclude(category=SOURCE_CATEGORY)
        .select_related("namespace")
        .order_by("namespace_id", "id")
    )
    erasable: list[Entry] = []
    mixed: list[Entry] = []
    for entry in entries:
        if not _has_sources(entry.value):
            (mixed if _has_words_of_others(entry, run_ids) else erasable).append(entry)
    return RunWrites(tuple(erasable), tuple(mixed))


@retry_on_conflict
def erase_run_writes(caller: MemoryCaller, writes: RunWrites) -> dict[str, int]:
    for _namespace, entries in groupby(writes.erasable, attrgetter("namespace_id")):
        rows = list(entries)
        erase_entries(open_namespace(caller, rows[0].namespace), rows)
    return {RUN_WRITES: len(writes.erasable)}


def _has_words_of_others(entry: Entry, run_ids: Sequence[str]) -> bool:
    """Return whether somebody else has written a value of the entry. An approval of the same value adds no words."""
    own_values: list[Json] = []
    other_values: list[Json] = []
    revisions = Revision.objects.unscoped().filter(entry=entry, operation__in=_WRITING)
    for run_id, value in revisions.order_by("number").values_list("run_id", "value"):
        (own_values if run_id in run_ids else other_values).append(value)
    return any(value not in own_values for value in other_values)


def _has_sources(value: Json) -> bool:
    return isinstance(value, dict) and bool(value.get("sources"))
