"""Repeated statements under generated keys, which become evidence for the existing entry instead of a second one.

A generated key contains the id of its run, only to be unique. Under a key that an author chose, a value is always
stored, even if another entry has the same content, because other nodes read that key.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from memory.core.filters import is_same_json
from memory.core.records import Json, MemoryEntry, StoreParams
from memory.logic.entries.duplicates import (
    find_duplicate,
    get_metadata_list,
    merge_duplicate,
    stem_words,
)
from memory.logic.entries.texts import list_texts


REPETITIONS = "said_again"  # in the metadata: {run, node, key, at} each, the newest last

_MIN_WORDS = 2
_MAX_REPETITIONS = 50


def is_generated_key(key: str, run_id: str) -> bool:
    """Return whether the run's id is a part of the key: ``r1`` of ``said_r1``, not of ``said_r12``."""
    if not run_id:
        return False
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(run_id)}(?![0-9A-Za-z])", key) is not None


def is_statement(value: Json) -> bool:
    """Return whether a string in the value has several words; single words and numbers repeat by chance."""
    return any(len(stem_words(text)) >= _MIN_WORDS for text in list_texts(value))


def merge_repetition(
    params: StoreParams, candidates: Iterable[MemoryEntry], now: datetime
) -> StoreParams | None:
    """Return the parameters to store under the key of the entry with the same statement, or None if there is none."""
    comparable = [entry for entry in candidates if _has_same_metadata(entry, params)]
    duplicate = find_duplicate(params, comparable)
    if duplicate is None:
        return None
    merged, source, key = merge_duplicate(duplicate, params), params.source, params.key
    previous = get_metadata_list(duplicate.entry.metadata, REPETITIONS, dict)
    others = [item for item in previous if item.get("key") != key]
    repetition = {"run": source.run_id, "node": source.node_id, "key": key, "at": now.isoformat()}
    metadata = {**merged.metadata, REPETITIONS: [*others, repetition][-_MAX_REPETITIONS:]}
    return replace(merged, metadata=metadata)


def _has_same_metadata(entry: MemoryEntry, params: StoreParams) -> bool:
    """Return whether metadata with the same names are equal; the same words about another account are another fact."""
    shared = entry.metadata.keys() & params.metadata.keys()
    return all(is_same_json(entry.metadata[name], params.metadata[name]) for name in shared)
