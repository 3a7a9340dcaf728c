"""Answers as of a moment, from the revisions that were there by then."""

from dataclasses import replace
from datetime import datetime

from memory.core.entry_codec import get_state
from memory.core.filters import document_of, matches, parse_filter
from memory.core.recall.selection import answer, is_visible
from memory.core.records import MemoryEntry, MemoryQuery
from memory.models import Namespace, Revision
from memory.models.entries import Operation
from memory.providers.postgres import rows, vectors


GONE = (Operation.FORGET, Operation.EXPIRE)


def search(namespace: Namespace, query: MemoryQuery, at: datetime) -> list[MemoryEntry]:
    """Ranked by the oracle over texts: exact, and as slow as the namespace was large.

    By meaning only what says the same today: of texts that were replaced no vectors are kept.
    """
    filter_ = parse_filter(query.filter)
    newest = (
        Revision.objects.unscoped()
        .filter(entry__namespace=namespace, at__lte=at)
        .order_by("entry_id", "-number")
        .distinct("entry_id")
        .select_related("entry")
    )
    if query.key is not None:
        newest = newest.filter(entry__key=query.key)
    known = [
        (one.entry.number, as_it_was(rows.build_entry(one.entry, namespace.text), one))
        for one in newest
        if one.operation not in GONE
    ]
    candidates = [
        (number, entry)
        for number, entry in known
        if is_visible(entry, at) and matches(filter_, document_of(entry))
    ]
    cosines = vectors.cosines_as_of(namespace, query.meaning, candidates)
    return answer(query, [entry for _number, entry in candidates], at, cosines)


def as_it_was(entry: MemoryEntry, revision: Revision) -> MemoryEntry:
    return replace(entry, updated_at=revision.at, revision=revision.number, **get_state(revision))
