"""Curation of one piece of finished work, whose content is analysed and stored without raising into the run.

The work is redacted and analysed; content that was known is removed; the drafts get an importance and a time to live;
they pass the content filter; and all or none are stored.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from memory.core.provider import NamespaceStore
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.logic.conversations.messages import estimate_tokens
from memory.logic.curation.batches import split_batches, split_text
from memory.logic.curation.extractive import ExtractiveCurator
from memory.logic.curation.feedback_loop import (
    KnownTexts,
    exclude_known,
    is_repetition,
    mentions_task,
)
from memory.logic.curation.lessons import DropReason, find_drop_reason, select_done
from memory.logic.curation.parsing import Analysis, build_drafts
from memory.logic.curation.scoring import choose_ttl, compute_importance
from memory.logic.curation.work import FinishedWork, redact_work
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
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.rules import is_small_talk
from memory.logic.ports import NewId


_LEARNING_CATEGORY: Final = "result"

# Memory of these namespaces is recalled where its origin is no longer known.
_SHARED_PREFIXES: Final = ("user:", "global:")

_DERIVED_SIMILARITY = 0.5  # of their words, alone and in pairs


class Curator(Protocol):
    """An analyst of finished work; its name is shown to readers of the memory."""

    @property
    def name(self) -> str: ...

    async def analyse(self, work: FinishedWork) -> Analysis: ...


@dataclass(frozen=True, slots=True)
class CurationResult:
    """The drafts of one piece of work, or the ``problem`` that prevented them; the problem isn't raised.

    ``dropped`` has a reason for each text that is no lesson.
    """

    drafts: tuple[StoreParams, ...]
    curator: str
    repairs: tuple[str, ...] = ()
    problem: str = ""
    dropped: tuple[DropReason, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredDrafts:
    """The decision on each draft, in their order."""

    decisions: tuple[IngressDecision, ...]

    def count(self, outcome: IngressOutcome) -> int:
        return sum(decision.outcome is outcome for decision in self.decisions)


async def curate(
    work: FinishedWork,
    curator: Curator,
    *,
    namespace: str,
    new_id: NewId,
    known_secrets: Sequence[str] = (),
    seconds: float = 60.0,
    judge: Judge | None = None,
) -> CurationResult:
    """Analyse the work into drafts; a failure (a model's error, a timeout) is returned in ``problem``, never raised."""
    work, is_refused = _remove_refusals(redact_work(work, known_secrets))
    try:
        async with asyncio.timeout(seconds):
            # Of a task that was not done, only the person's own words are left, which need no model.
            analysis = await (ExtractiveCurator(judge) if is_refused else curator).analyse(work)
    except TimeoutError:
        return CurationResult((), curator.name, problem=f"No answer within {seconds:g} seconds.")
    except Exception as error:  # a model can raise any exception; the run has ended
        return CurationResult((), curator.name, problem=f"{type(error).__name__}: {error}"[:500])
    analysis, dropped = _drop_non_lessons(_remove_known(analysis, work, judge), work, is_refused)
    drafts = build_drafts(analysis, namespace, new_id, work.source)
    if work.is_untrusted:
        origin = {"origin": str(ContentOrigin.WEB)}
        drafts = [replace(draft, metadata={**draft.metadata, **origin}) for draft in drafts]
    scored = tuple(_set_importance(draft, judge) for draft in drafts)
    return CurationResult(scored, curator.name, analysis.repairs, dropped=dropped)


def split_work(work: FinishedWork, budget: int) -> list[FinishedWork]:
    """Split work whose outputs are too long for one prompt; errors go with the first piece."""
    texts = (piece for output in work.outputs for piece in split_text(output, budget))
    batches = split_batches(texts, budget, estimate_tokens)
    first, *rest = [replace(work, outputs=tuple(batch)) for batch in batches] or [work]
    return [first, *(replace(piece, errors=()) for piece in rest)]


def store_drafts(
    result: CurationResult,
    entries: NamespaceStore,
    *,
    rejected: Sequence[Json] = (),
    known_secrets: tuple[str, ...] = (),
    limits: IngressLimits = IngressLimits(recent_count=500, min_terms=1),  # noqa: B008 - a frozen value
) -> StoredDrafts:
    """Pass each draft through the content filter, which compares it with existing entries and previous drafts.

    All drafts are stored or none: after a failure, earlier writes are rolled back.
    """
    decisions = []
    with WriteBatch(entries) as batch:
        for draft in result.drafts:
            decision = decide_draft(draft, entries, rejected, known_secrets, limits)
            decisions.append(decision)
            if decision.params:
                batch.store(decision.params)
    return StoredDrafts(tuple(decisions))


def decide_draft(
    draft: StoreParams,
    entries: NamespaceStore,
    rejected: Sequence[Json],
    known_secrets: tuple[str, ...],
    limits: IngressLimits,
) -> IngressDecision:
    """Pass the draft through the content filter; a repeated statement becomes evidence for its original entry."""
    query = MemoryQuery(draft.namespace, top_k=limits.recent_count)
    recent = entries.recall(replace(query, filter={"category": draft.category}))
    is_untrusted = bool(get_untrusted_origin(draft.metadata))
    if draft.category == _LEARNING_CATEGORY:
        derived = [_LEARNING_CATEGORY, "execution", *NEVER_MERGED]
        originals = entries.recall(replace(query, filter={"$not": {"category": {"$in": derived}}}))
        draft = _cap_importance(draft, originals)
        original = None if is_untrusted else _find_original(draft, originals)
        if original is not None:
            return _confirm_original(draft, original)
    # A model may copy instructions from outputs into a draft, so it counts as untrusted.
    hold = is_untrusted and draft.namespace.startswith(_SHARED_PREFIXES)
    incoming = Incoming(
        draft, ContentOrigin.TOOL, recent, rejected, known_secrets, limits, hold, can_merge=True
    )
    return decide_ingress(incoming)


def _remove_refusals(work: FinishedWork) -> tuple[FinishedWork, bool]:
    """Remove the answers with which the model refused the task; also return whether no other answer is left.

    The message of the person, which is one of the outputs of a chat, always stays.
    """
    answers = [output for output in work.outputs if output != work.task]
    finished_outputs = select_done(answers)
    outputs = tuple(
        output for output in work.outputs if output == work.task or output in finished_outputs
    )
    return replace(work, outputs=outputs), bool(answers) and not finished_outputs


def _drop_non_lessons(
    analysis: Analysis, work: FinishedWork, is_refused: bool
) -> tuple[Analysis, tuple[DropReason, ...]]:
    """Remove the texts that are no lessons, and return the reason for each."""
    reasons: list[DropReason] = []

    def select(texts: Sequence[str]) -> tuple[str, ...]:
        texts_with_reasons = [(text, find_drop_reason(text)) for text in texts]
        reasons.extend(reason for _text, reason in texts_with_reasons if reason)
        return tuple(text for text, reason in texts_with_reasons if reason is None)

    learnings, solutions = select(analysis.key_learnings), select(analysis.solutions)
    has_content = bool(learnings or solutions or analysis.errors)
    if analysis.summary and (
        reason := _find_summary_reason(analysis, work, is_refused, has_content)
    ):
        reasons.append(reason)
        analysis = replace(analysis, summary="")
    return replace(analysis, key_learnings=learnings, solutions=solutions), tuple(reasons)


def _find_summary_reason(
    analysis: Analysis, work: FinishedWork, is_refused: bool, has_content: bool
) -> DropReason | None:
    """Return why the summary of the task is dropped, or None if it is stored."""
    if is_refused and work.has_succeeded:
        return DropReason.NOT_DONE
    if not has_content and is_small_talk(work.task):
        return DropReason.SMALL_TALK
    return find_drop_reason(analysis.summary)


def _remove_known(analysis: Analysis, work: FinishedWork, judge: Judge | None) -> Analysis:
    """Remove content that was known already, and the summary as well if no other content is left."""
    known_texts = KnownTexts.from_texts([*work.recalled_texts, *work.stored_texts])
    new_analysis = replace(
        analysis,
        key_learnings=exclude_known(analysis.key_learnings, known_texts),
        solutions=exclude_known(analysis.solutions, known_texts),
        errors=exclude_known(analysis.errors, known_texts),
    )
    has_content = new_analysis.key_learnings or new_analysis.solutions or work.errors
    if has_content or not work.has_succeeded:
        return new_analysis
    is_known = _is_summary_known(analysis.summary, work, known_texts, judge)
    return replace(new_analysis, summary="") if is_known else new_analysis


def _is_summary_known(
    summary: str, work: FinishedWork, known_texts: KnownTexts, judge: Judge | None
) -> bool:
    """Return whether the summary only repeats known content or content that the run itself stored.

    A statement that memory had already isn't stored again by the run, which has recalled it.
    """
    return (
        (known_texts.contains(summary) and not mentions_task(work.task, summary))
        or KnownTexts.from_texts(work.stored_texts).contains(work.task)
        or any(compare_values(text, work.task) is Likeness.SAME for text in work.recalled_texts)
        or is_repetition(work.task, work.outputs, known_texts, judge)
    )


def _set_importance(draft: StoreParams, judge: Judge | None) -> StoreParams:
    scored = replace(draft, importance=compute_importance(draft.value, draft.category, judge))
    return replace(scored, ttl_seconds=choose_ttl(scored))


def _find_original(draft: StoreParams, entries: Iterable[MemoryEntry]) -> MemoryEntry | None:
    """Return an entry in use whose only text is the draft's statement, or None."""
    text = get_single_text(draft.value)
    if text is None:
        return None
    usable = _exclude_quarantined(entries)
    return next((entry for entry in usable if _is_alike(get_single_text(entry.value), text)), None)


def _confirm_original(draft: StoreParams, original: MemoryEntry) -> IngressDecision:
    """Add one piece of evidence to the original; its wording and metadata stay."""
    repeated = replace(
        draft, value=original.value, metadata={}, importance=0.0, category=original.category
    )
    merged = merge_duplicate(Duplicate(original, Likeness.SAME), repeated)
    params, outcome = replace(merged, source=original.source), IngressOutcome.MERGE
    finding = RuleFinding(FindingReason.DUPLICATE, outcome, original.key)
    return IngressDecision(outcome, (finding,), params, original)


def _cap_importance(draft: StoreParams, entries: Sequence[MemoryEntry]) -> StoreParams:
    """Limit the draft's importance to that of the entries it was derived from."""
    text = get_single_text(draft.value)
    if text is None:
        return draft
    importances = [
        entry.importance
        for entry in _exclude_quarantined(entries)
        if (original_text := get_single_text(entry.value))
        and measure_similarity(original_text, text) >= _DERIVED_SIMILARITY
    ]
    return replace(draft, importance=min([draft.importance, *importances]))


def _exclude_quarantined(entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    return [entry for entry in entries if entry.tier is not Tier.QUARANTINE]


def _is_alike(text: str | None, other: str) -> bool:
    return text is not None and compare_values(text, other) is not Likeness.DIFFERENT
