"""Repeated statements, which become evidence for the entry that has them already.

A write always stores its value under its own key, so that the key that the writer gets can be recalled. Folding comes
later: a repeated statement adds one piece of evidence to the older entry, and its own entry is removed if nobody reads
its key, because it is a generated one, which contains the id of its run only to be unique. An entry under a key that
an author chose stays, because other nodes read that key.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from memory.core.filters import is_same_json
from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.logic.entries.duplicates import (
    NEVER_MERGED,
    Likeness,
    find_duplicate,
    get_metadata_list,
    merge_duplicate,
    stem_words,
)
from memory.logic.entries.texts import list_texts
from memory.logic.entries.write_batch import build_restore_params


REPETITIONS = "said_again"  # in the metadata: {run, node, key, entry, at} each, the newest last

_EVIDENCE = frozenset({"proofs", "proved_by", REPETITIONS})  # in the metadata, of an entry's own
_MIN_WORDS = 2
_MAX_REPETITIONS = 50


@dataclass(frozen=True, slots=True)
class Fold:
    """A repetition, its original, and the parameters that store the original with one more piece of evidence.

    If the repetition was counted before, the parameters change nothing.
    """

    original: MemoryEntry
    repetition: MemoryEntry
    params: StoreParams


def is_generated_key(key: str, run_id: str) -> bool:
    """Return whether the run's id is a part of the key: ``r1`` of ``said_r1``, not of ``said_r12``."""
    if not run_id:
        return False
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(run_id)}(?![0-9A-Za-z])", key) is not None


def is_statement(value: Json) -> bool:
    """Return whether a string in the value has several words; single words and numbers repeat by chance."""
    return any(len(stem_words(text)) >= _MIN_WORDS for text in list_texts(value))


def can_repeat(entry: MemoryEntry) -> bool:
    """Return whether the entry counts as evidence for an older one with the same content."""
    is_counted = entry.tier is Tier.WORKING or is_generated_key(entry.key, entry.source.run_id)
    is_in_use = entry.tier is not Tier.QUARANTINE and entry.category not in NEVER_MERGED
    return is_counted and is_in_use and is_statement(entry.value)


def plan_fold(
    repetition: MemoryEntry, candidates: Iterable[MemoryEntry], now: datetime
) -> Fold | None:
    """Return how the entry is folded into the oldest candidate with the same statement, or None if there is none.

    The original keeps its key, and what remains of the longer life of the two. An entry is evidence once.
    """
    params = replace(build_restore_params(repetition, now), metadata=_remove_evidence(repetition))
    duplicates = [
        duplicate
        for entry in sorted(candidates, key=_get_creation_key)
        if _get_creation_key(entry) < _get_creation_key(repetition)
        and _has_same_metadata(entry, params)
        and (duplicate := find_duplicate(params, [entry])) is not None
    ]
    if not duplicates:
        return None
    exact = (duplicate for duplicate in duplicates if duplicate.likeness is Likeness.SAME)
    duplicate = next(exact, duplicates[0])
    original = duplicate.entry
    earlier = get_metadata_list(original.metadata, REPETITIONS, dict)
    if any(item.get("entry") == repetition.id for item in earlier):
        return Fold(original, repetition, build_restore_params(original, now))
    # Measured from now on, the original's time to live is what remains of it.
    merged = merge_duplicate(replace(duplicate, entry=replace(original, updated_at=now)), params)
    source = repetition.source
    item = {
        "run": source.run_id,
        "node": source.node_id,
        "key": repetition.key,
        "entry": repetition.id,
        "at": now.isoformat(),
    }
    metadata = {**merged.metadata, REPETITIONS: [*earlier, item][-_MAX_REPETITIONS:]}
    return Fold(original, repetition, replace(merged, metadata=metadata, source=original.source))


def _get_creation_key(entry: MemoryEntry) -> tuple[str, str]:
    return (entry.created_at.isoformat() if entry.created_at else "", entry.id)


def _remove_evidence(entry: MemoryEntry) -> dict[str, Json]:
    return {name: value for name, value in entry.metadata.items() if name not in _EVIDENCE}


def _has_same_metadata(entry: MemoryEntry, params: StoreParams) -> bool:
    """Return whether metadata with the same names are equal; the same words about another account are another fact."""
    shared = entry.metadata.keys() & params.metadata.keys()
    return all(is_same_json(entry.metadata[name], params.metadata[name]) for name in shared)
