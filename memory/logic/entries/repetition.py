"""The same said again under a key nobody chose: one entry with one proof more, not a second one.

A key with its run's id in it is only there to be new. A key somebody chose is a place: what is stored
there is found there by the next node, whatever else says the same.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from memory.core.filters import same_json
from memory.core.records import Json, MemoryEntry, Source, StoreParams
from memory.logic.entries.duplicates import find_duplicate, list_in, merged, words_of
from memory.logic.entries.texts import list_texts


AGAIN = "said_again"  # in the metadata: {run, node, key, at} each, the newest last


def is_made(key: str, run_id: str) -> bool:
    """``r1`` is in ``said_r1`` and not in ``said_r12``."""
    if not run_id:
        return False
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(run_id)}(?![0-9A-Za-z])", key) is not None


def is_saying(value: Json) -> bool:
    """A number or a word may well come twice and mean two things."""
    return any(len(words_of(text)) >= _FEWEST_WORDS for text in list_texts(value))


def said_again(
    params: StoreParams, candidates: Iterable[MemoryEntry], now: datetime
) -> StoreParams | None:
    """What to store instead, under the key of the entry that says it already; nothing if none does."""
    found = find_duplicate(params, [one for one in candidates if _agrees(one, params)])
    if found is None:
        return None
    made = merged(found, params)
    proof = _proof(params, now)
    said = list_in(found.entry.metadata, AGAIN, dict)
    known = [one for one in said if one.get("key") != proof["key"]]
    return replace(made, metadata={**made.metadata, AGAIN: [*known, proof][-_PROOFS_KEPT:]})


_FEWEST_WORDS = 2
_PROOFS_KEPT = 50


def _agrees(entry: MemoryEntry, params: StoreParams) -> bool:
    """The same words about another account are another fact."""
    known = entry.metadata
    return all(
        same_json(known[name], one) for name, one in params.metadata.items() if name in known
    )


def _proof(params: StoreParams, now: datetime) -> dict[str, Json]:
    source: Source = params.source
    return {
        "run": source.run_id,
        "node": source.node_id,
        "key": params.key,
        "at": now.isoformat(),
    }
