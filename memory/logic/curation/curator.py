"""Curation of one piece of work, from what happened to what is stored. It never raises into a run.

Redact, analyse, drop what was recalled, score, choose a life, pass the gate, store all or nothing.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from memory.core.provider import NamespaceStore
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.logic.conversations.messages import estimate
from memory.logic.curation.batches import batches, parts
from memory.logic.curation.feedback_loop import (
    Recalled,
    merely_told_again,
    names,
    without_recalled,
)
from memory.logic.curation.parsing import Analysis, drafts
from memory.logic.curation.scoring import chosen_life, importance_of
from memory.logic.curation.work import FinishedWork, redacted
from memory.logic.entries.duplicates import (
    NEVER_MERGED,
    Duplicate,
    Likeness,
    compare_values,
    measure_similarity,
    merge_duplicate,
)
from memory.logic.entries.ingress import (
    FindingReason,
    Incoming,
    IngressDecision,
    IngressLimits,
    IngressOutcome,
    RuleFinding,
    decide_ingress,
)
from memory.logic.entries.origins import ContentOrigin, get_untrusted_origin
from memory.logic.entries.texts import get_single_text
from memory.logic.entries.write_batch import WriteBatch
from memory.logic.ports import NewId


class Curator(Protocol):
    """``name`` is what a reader of the memory sees."""

    @property
    def name(self) -> str: ...

    async def analyse(self, work: FinishedWork) -> Analysis: ...


@dataclass(frozen=True, slots=True)
class Curated:
    """``problem`` says why there are no drafts; it is shown, not raised."""

    drafts: tuple[StoreParams, ...]
    by: str
    repairs: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of each draft, in their order."""

    decisions: tuple[IngressDecision, ...]

    def count(self, outcome: IngressOutcome) -> int:
        return sum(one.outcome is outcome for one in self.decisions)


async def curate(
    work: FinishedWork,
    curator: Curator,
    *,
    namespace: str,
    new_id: NewId,
    known_secrets: Sequence[str] = (),
    seconds: float = 60.0,
) -> Curated:
    """Whatever goes wrong, a model's error, its silence or its nonsense, ends up in ``problem``."""
    work = redacted(work, known_secrets)
    try:
        async with asyncio.timeout(seconds):
            analysis = await curator.analyse(work)
    except TimeoutError:
        return Curated((), curator.name, problem=f"No answer within {seconds:g} seconds.")
    except Exception as error:  # whatever a model raises; the run is long over
        return Curated((), curator.name, problem=f"{type(error).__name__}: {error}"[:500])
    made = drafts(_only_new(analysis, work), namespace, new_id, work.source)
    if work.outside:
        made = [
            replace(one, metadata={**one.metadata, "origin": str(ContentOrigin.WEB)})
            for one in made
        ]
    return Curated(tuple(map(_valued, made)), curator.name, analysis.repairs)


def in_batches(work: FinishedWork, budget: int) -> list[FinishedWork]:
    """Work whose outputs are too long for one prompt, in pieces; errors go with the first."""
    texts = (part for text in work.outputs for part in parts(text, budget))
    pieces = [replace(work, outputs=tuple(one)) for one in batches(texts, budget, estimate)]
    first, *rest = pieces or [work]
    return [first, *(replace(one, errors=()) for one in rest)]


def keep(
    curated: Curated,
    entries: NamespaceStore,
    *,
    rejected: Sequence[Json] = (),
    known_secrets: tuple[str, ...] = (),
    limits: IngressLimits = IngressLimits(recent_count=500, min_terms=1),  # noqa: B008 - a frozen value
) -> Stored:
    """Each draft through the gate, compared with what is there and with those before it.

    All are stored or none: what was written before a failure is put back as it was.
    """
    writes = WriteBatch(entries)
    decisions = []
    try:
        for draft in curated.drafts:
            decision = decided(draft, entries, rejected, known_secrets, limits)
            decisions.append(decision)
            if decision.params:
                writes.store(decision.params)
    except BaseException:  # cancelled, too
        writes.roll_back()
        raise
    return Stored(tuple(decisions))


def _only_new(analysis: Analysis, work: FinishedWork) -> Analysis:
    """Without what was known; without an account, too, where nothing else is left to tell of."""
    known = Recalled.of([*work.recalled, *work.written])
    new = replace(
        analysis,
        key_learnings=without_recalled(analysis.key_learnings, known),
        solutions=without_recalled(analysis.solutions, known),
        errors=without_recalled(analysis.errors, known),
    )
    if new.key_learnings or new.solutions or work.errors or not work.succeeded:
        return new
    return replace(new, summary="") if _is_nothing_new(analysis.summary, work, known) else new


def _is_nothing_new(summary: str, work: FinishedWork, known: Recalled) -> bool:
    """A task that is the very thing the run stored is no task; its summary would say it once more."""
    return (
        (known.says(summary) and not names(work.task, summary))
        or Recalled.of(work.written).says(work.task)
        or merely_told_again(work.task, work.outputs, known)
    )


def _valued(draft: StoreParams) -> StoreParams:
    importance = importance_of(draft.value, draft.category).score
    scored = replace(draft, importance=importance)
    return replace(scored, ttl_seconds=chosen_life(scored))


def decided(
    draft: StoreParams,
    entries: NamespaceStore,
    rejected: Sequence[Json],
    known_secrets: tuple[str, ...],
    limits: IngressLimits,
) -> IngressDecision:
    query = MemoryQuery(
        draft.namespace, filter={"category": draft.category}, top_k=limits.recent_count
    )
    recent = entries.recall(query)
    is_strange = bool(get_untrusted_origin(draft.metadata))
    if draft.category == _LEARNT:
        others: Json = {"$not": {"category": {"$in": [_LEARNT, "execution", *NEVER_MERGED]}}}
        said = entries.recall(replace(query, filter=others))
        draft = below(draft, said)
        known = None if is_strange else original_of(draft, said)
        if known is not None:
            return proved(draft, known)
    # What a model made of outputs may carry orders from them, so it is treated as a stranger's.
    hold = is_strange and draft.namespace.startswith(_CAREFUL)
    return decide_ingress(
        Incoming(draft, ContentOrigin.TOOL, recent, rejected, known_secrets, limits, hold=hold)
    )


_LEARNT: Final = "result"

# What these hold is recalled where nobody knows any more where it came from.
_CAREFUL: Final = ("user:", "global:")


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
