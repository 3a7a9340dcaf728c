"""Search as of a past moment, in the revisions that existed then."""

from dataclasses import replace
from datetime import datetime

from memory.core.entry_codec import get_state
from memory.core.filters import build_filter_document, matches, parse_filter
from memory.core.recall.selection import answer, is_visible
from memory.core.records import MemoryEntry, MemoryQuery
from memory.models import Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows, value_sources, vectors


REMOVING_OPERATIONS = (Operation.FORGET, Operation.EXPIRE)


def search(namespace: Namespace, query: MemoryQuery, moment: datetime) -> list[MemoryEntry]:
    """Return the result that the query had at the moment. All texts are ranked without an index, which is slow in large
    namespaces.

    Only texts that are still the same are compared by meaning, since vectors of replaced texts are not stored.
    """
    filter_ = parse_filter(query.filter)
    newest = (
        Revision.objects.unscoped()
        .filter(entry__namespace=namespace, at__lte=moment)
        .order_by("entry_id", "-number")
        .distinct("entry_id")
        .select_related("entry")
    )
    if query.key is not None:
        newest = newest.filter(entry__key=query.key)
    candidates = []
    for revision in newest:
        if revision.operation in REMOVING_OPERATIONS:
            continue
        entry = build_entry_as_of(rows.build_entry(revision.entry, namespace.text), revision)
        if is_visible(entry, moment) and matches(filter_, build_filter_document(entry)):
            candidates.append((revision.entry.number, entry))
    cosines = vectors.compute_cosines_as_of(namespace, query.meaning, candidates)
    hits = answer(query, [entry for _number, entry in candidates], moment, cosines)
    return value_sources.add_value_sources(hits)


def build_entry_as_of(entry: MemoryEntry, revision: Revision) -> MemoryEntry:
    """Return the entry as it was after this revision, still with its present source (see ``value_sources``)."""
    return replace(entry, updated_at=revision.at, revision=revision.number, **get_state(revision))
