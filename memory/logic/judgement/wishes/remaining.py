"""Store what entries say beside what a person asks to forget as new entries, with what is known of their text."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from memory.core.entry_codec import CONTENT, get_state
from memory.core.recall.floor import ABOUT, ATTRIBUTE
from memory.core.records import Json, MemoryEntry, StoreParams
from memory.logic.entries.texts import join_texts
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import About, Kind
from memory.logic.judgement.related_entries import KIND
from memory.logic.judgement.remainders import find_remainder


MIN_OF_SPEAKER: Final = 0.5  # probability
KEY_LENGTH: Final = 12  # of the hash in the key of an entry that nobody chose a key for


def build_fact_metadata(
    metadata: dict[str, Json], text: str, judge: Judge | None
) -> dict[str, Json]:
    """Return the metadata with the attribute of the fact, unless the author gave it one.

    It also says what keeps the fact in or out of the profile: that it is an instruction, or about somebody else.
    """
    if judge is None or ATTRIBUTE in metadata:
        return metadata
    (clause,) = judge.judge_texts([text])
    labels = {ATTRIBUTE: str(clause.attribute)}
    if clause.kind is Kind.INSTRUCTION:
        labels[KIND] = str(Kind.INSTRUCTION)
    elif clause.is_of_speaker < MIN_OF_SPEAKER:
        labels[ABOUT] = str(About.OTHER)
    return {**labels, **metadata, ATTRIBUTE: labels[ATTRIBUTE]}


def list_remaining(
    judge: Judge | None, wish: str, targets: Sequence[MemoryEntry], now: datetime
) -> list[StoreParams] | None:
    """Return what entries say beside what is to be forgotten, as new entries, or None if that can't be told apart."""
    remaining: list[StoreParams] = []
    for target in targets:
        remainder = find_remainder(judge, wish, join_texts(target.value))
        is_text = isinstance(target.value, str)
        if remainder.is_unclear or (remainder.texts and not is_text):
            return None
        remaining += (_build_remaining(judge, target, text, now) for text in remainder.texts)
    return remaining


def _build_remaining(
    judge: Judge | None, target: MemoryEntry, text: str, now: datetime
) -> StoreParams:
    """Return the entry that has the text from now on, with all that was chosen for the entry that said more."""
    author_metadata = {
        k: v for k, v in target.metadata.items() if k not in (ATTRIBUTE, KIND, ABOUT)
    }
    content = get_state(target, CONTENT)
    content |= {"value": text, "metadata": build_fact_metadata(author_metadata, text, judge)}
    digest = hashlib.sha256(f"{target.id} {text}".encode()).hexdigest()
    ttl = (target.expires_at - now).total_seconds() if target.expires_at else None
    return StoreParams(
        namespace=target.namespace, key=f"m-{digest[:KEY_LENGTH]}", ttl_seconds=ttl, **content
    )
