"""A learning and what people or workflows said themselves: the same again is a proof of it, and nothing derived outranks it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memory.core.records import MemoryEntry, StoreParams, Tier
from memory.logic.entries.duplicates import (
    Duplicate,
    Likeness,
    compare_values,
    measure_similarity,
    merge_duplicate,
)
from memory.logic.entries.ingress import FindingReason, IngressDecision, IngressOutcome, RuleFinding
from memory.logic.entries.texts import get_single_text


def original_of(draft: StoreParams, said: Iterable[MemoryEntry]) -> MemoryEntry | None:
    """The entry that says in one sentence what the draft says."""
    text = get_single_text(draft.value)
    if text is None:
        return None
    return next(
        (one for one in _originals(said) if _is_like(get_single_text(one.value), text)), None
    )


def proved(draft: StoreParams, original: MemoryEntry) -> IngressDecision:
    """The original's own words and metadata stay; it has one proof more."""
    again = replace(
        draft, value=original.value, metadata={}, importance=0.0, category=original.category
    )
    finding = RuleFinding(FindingReason.DUPLICATE, IngressOutcome.MERGE, original.key)
    params = merge_duplicate(Duplicate(original, Likeness.SAME), again)
    return IngressDecision(
        IngressOutcome.MERGE, (finding,), replace(params, source=original.source), original
    )


def below(draft: StoreParams, said: Sequence[MemoryEntry]) -> StoreParams:
    """No more important than what it was made of, however telling it sounds."""
    text = get_single_text(draft.value)
    if text is None:
        return draft
    near = [
        one.importance
        for one in _originals(said)
        if (own := get_single_text(one.value)) and measure_similarity(own, text) >= _MADE_OF
    ]
    return replace(draft, importance=min([draft.importance, *near]))


_MADE_OF = 0.5  # of their words, alone and in pairs


def _originals(said: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    return [one for one in said if one.tier is not Tier.QUARANTINE]


def _is_like(one: str | None, other: str) -> bool:
    return one is not None and compare_values(one, other) is not Likeness.DIFFERENT
