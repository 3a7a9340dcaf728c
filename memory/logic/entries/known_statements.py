"""Finds out whether memory has a statement already, so that it is not stored again."""

from datetime import datetime
from typing import Final

from memory.core.provider import NamespaceStore
from memory.core.recall.selection import holds
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams
from memory.logic.entries.duplicates import Likeness, compare_values, stem_words
from memory.logic.entries.texts import join_texts, list_texts


MAX_COMPARED: Final = 10  # the entries that resemble the statement most
MAX_QUERY_LENGTH: Final = 2_000
# What says the same has nearly all words of the statement; of a short one, "I'm" instead of "I am" leaves four tenths.
MIN_SCORE: Final = 0.3


def find_known_entry(
    params: StoreParams, store: NamespaceStore, now: datetime, *, is_new_key: bool = False
) -> MemoryEntry | None:
    """Return an entry of the same category that says all that the value says, or None if the value is new.

    What holds no more may be true again, so a former entry is not known. ``is_new_key`` says that no entry has the key.
    """
    text = join_texts(params.value)
    queries = [
        MemoryQuery(
            params.namespace,
            query_text=text[:MAX_QUERY_LENGTH] or params.key,
            top_k=MAX_COMPARED,
            min_score=MIN_SCORE,
        )
    ]
    if not is_new_key:
        queries.insert(0, MemoryQuery(params.namespace, key=params.key))
    hits = (hit for query in queries for hit in store.recall(query))
    return next((hit for hit in hits if holds(hit, now) and _covers(hit, params)), None)


def _covers(entry: MemoryEntry, params: StoreParams) -> bool:
    if entry.category != params.category:
        return False
    match compare_values(entry.value, params.value):
        case Likeness.SAME:
            return True
        case Likeness.NEAR:
            return _count_words(entry.value) >= _count_words(params.value)
        case _:
            return False


def _count_words(value: object) -> int:
    return sum(len(stem_words(text)) for text in list_texts(value))
