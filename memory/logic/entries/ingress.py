"""The content filter, which lets a value into memory, quarantines it, or refuses it.

Each rule is a small function over the incoming value. All rules are evaluated, each gives its reason, and the
strictest outcome wins. No secret passes this filter in plain text.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from memory.core.recall.tokens import extract_terms
from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.core.values import count_bytes, to_compact_json
from memory.logic.entries.duplicates import (
    Duplicate,
    Likeness,
    compare_values,
    find_duplicate,
    get_age_key,
    merge_duplicate,
)
from memory.logic.entries.instructions import find_instructions
from memory.logic.entries.origins import UNTRUSTED, ContentOrigin, parse_origin
from memory.logic.entries.secrets import redact_json
from memory.logic.entries.text_similarity import is_unspaced
from memory.logic.entries.tiers import set_default_ttl


QUARANTINE_REASONS: Final = "quarantined_for"  # in the metadata: {reason, detail} each


class IngressOutcome(StrEnum):
    """The outcomes, from the mildest to the strictest."""

    ADMIT = "admit"
    MERGE = "merge"  # more evidence for an existing entry
    QUARANTINE = "quarantine"
    REFUSE = "refuse"


class FindingReason(StrEnum):
    TOO_SHORT = "too_short"
    DUPLICATE = "duplicate"
    SECRET = "secret"  # noqa: S105 - the name of a rule
    TOO_LARGE = "too_large"
    HAS_INSTRUCTIONS = "gives_orders"
    REJECTED_BEFORE = "rejected_before"
    EXTERNAL_SOURCE = "from_outside"


@dataclass(frozen=True, slots=True)
class IngressLimits:
    min_terms: int = 2
    max_bytes: int = 16_384
    recent_count: int = 50  # the newest entries to compare with


@dataclass(frozen=True, slots=True)
class Incoming:
    """A value to store, with recent entries of its namespace and the values that members rejected there."""

    params: StoreParams
    origin: ContentOrigin = ContentOrigin.MODEL
    recent_entries: Sequence[MemoryEntry] = ()
    rejected_values: Sequence[Json] = ()
    known_secrets: tuple[str, ...] = ()
    limits: IngressLimits = IngressLimits()
    hold: bool = False  # its author wants a review first
    can_merge: bool = (
        False  # nobody chose the key or will read it, so that a duplicate may take the value
    )


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A rule's objection; ``detail`` is for readers and never quotes a secret."""

    reason: FindingReason
    outcome: IngressOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class IngressDecision:
    """The outcome, its reasons, and the redacted parameters to store, if any; ``target`` is the entry to merge into."""

    outcome: IngressOutcome
    findings: tuple[RuleFinding, ...]
    params: StoreParams | None
    target: MemoryEntry | None = None


@dataclass(frozen=True, slots=True)
class ScreeningResult:
    """The parameters to store after the screening, and the findings."""

    outcome: IngressOutcome
    findings: tuple[RuleFinding, ...]
    params: StoreParams


IngressRule = Callable[[Incoming], RuleFinding | None]  # None if the rule has no objection


def decide_ingress(incoming: Incoming) -> IngressDecision:
    """Apply all rules; the strictest outcome decides what is stored."""
    findings = _apply_rules(incoming, RULES)
    params, _ = _redact_params(incoming)
    outcomes = (finding.outcome for finding in findings)
    outcome = max(outcomes, key=list(IngressOutcome).index, default=IngressOutcome.ADMIT)
    match outcome:
        case IngressOutcome.REFUSE:
            return IngressDecision(outcome, findings, None)
        case IngressOutcome.QUARANTINE:
            return IngressDecision(outcome, findings, _quarantine(params, findings))
        case IngressOutcome.MERGE:
            return _decide_merge(incoming, params, findings)
        case _:
            return IngressDecision(outcome, findings, set_default_ttl(params))


def screen_params(
    params: StoreParams, origin: ContentOrigin, *, hold: bool = False
) -> ScreeningResult:
    """Remove secrets, and quarantine untrusted instructions. Length, size and repetition are not checked."""
    incoming = Incoming(params, origin, hold=hold)
    redacted, kinds = _redact_params(incoming)
    objections = _apply_rules(incoming, (check_hold, check_instructions))
    findings = objections
    if kinds:
        secret = RuleFinding(FindingReason.SECRET, IngressOutcome.ADMIT, ", ".join(kinds))
        findings = (secret, *objections)
        redacted = replace(redacted, metadata={**redacted.metadata, "redacted": list(kinds)})
    if not objections:
        return ScreeningResult(IngressOutcome.ADMIT, findings, redacted)
    return ScreeningResult(IngressOutcome.QUARANTINE, findings, _quarantine(redacted, objections))


def list_quarantine_reasons(entry: MemoryEntry) -> tuple[str, ...]:
    """Return the reasons for an entry's quarantine, without malformed ones, or nothing if it isn't in quarantine."""
    reasons = entry.metadata.get(QUARANTINE_REASONS)
    if entry.tier is not Tier.QUARANTINE or not isinstance(reasons, list):
        return ()
    return tuple(
        str(item["reason"]) for item in reasons if isinstance(item, dict) and "reason" in item
    )


def get_origin(params: StoreParams) -> ContentOrigin:
    """Return the origin that the metadata names, by default a model."""
    return parse_origin(params.metadata.get("origin"))


def check_length(incoming: Incoming) -> RuleFinding | None:
    """Refuse strings with too few words. A value that is no string, such as a number, may be short."""
    value, minimum = incoming.params.value, incoming.limits.min_terms
    if not isinstance(value, str) or _count_words(value) >= minimum:
        return None
    detail = f"fewer than {minimum} words"
    return RuleFinding(FindingReason.TOO_SHORT, IngressOutcome.REFUSE, detail)


def check_duplicate(incoming: Incoming) -> RuleFinding | None:
    """Note that a recent entry has the same content.

    The value is stored under its own key all the same, unless it can be merged: the writer is told that key, and reads
    it. ``memory.logic.entries.repetition`` folds duplicates later.
    """
    if (duplicate := _find_recent_duplicate(incoming)) is None:
        return None
    outcome = IngressOutcome.MERGE if incoming.can_merge else IngressOutcome.ADMIT
    return RuleFinding(FindingReason.DUPLICATE, outcome, duplicate.entry.key)


def check_secret(incoming: Incoming) -> RuleFinding | None:
    _, kinds = _redact_params(incoming)
    if not kinds:
        return None
    return RuleFinding(FindingReason.SECRET, IngressOutcome.QUARANTINE, ", ".join(kinds))


def check_size(incoming: Incoming) -> RuleFinding | None:
    size, limit = count_bytes(incoming.params.value), incoming.limits.max_bytes
    if size <= limit:
        return None
    detail = f"{size} bytes of {limit}"
    return RuleFinding(FindingReason.TOO_LARGE, IngressOutcome.QUARANTINE, detail)


def check_hold(incoming: Incoming) -> RuleFinding | None:
    if not incoming.hold:
        return None
    return RuleFinding(FindingReason.EXTERNAL_SOURCE, IngressOutcome.QUARANTINE)


def check_instructions(incoming: Incoming) -> RuleFinding | None:
    if incoming.origin not in UNTRUSTED:
        return None
    value = incoming.params.value
    instructions = find_instructions(value if isinstance(value, str) else to_compact_json(value))
    if not instructions:
        return None
    detail = "; ".join(f"{i.rule}: {i.excerpt}" if i.excerpt else i.rule for i in instructions)
    return RuleFinding(FindingReason.HAS_INSTRUCTIONS, IngressOutcome.QUARANTINE, detail[:500])


def check_rejections(incoming: Incoming) -> RuleFinding | None:
    value = incoming.params.value
    likenesses = (compare_values(value, rejected) for rejected in incoming.rejected_values)
    if all(likeness is Likeness.DIFFERENT for likeness in likenesses):
        return None
    return RuleFinding(FindingReason.REJECTED_BEFORE, IngressOutcome.REFUSE)


RULES: tuple[IngressRule, ...] = (
    check_length,
    check_rejections,
    check_size,
    check_secret,
    check_hold,
    check_instructions,
    check_duplicate,
)


def _apply_rules(incoming: Incoming, rules: Iterable[IngressRule]) -> tuple[RuleFinding, ...]:
    return tuple(finding for rule in rules if (finding := rule(incoming)))


def _count_words(text: str) -> int:
    """Count the words; Chinese characters count as words, but the pairs of them that are terms as well don't."""
    return sum(not (len(term) > 1 and is_unspaced(term)) for term in extract_terms(text))


def _find_recent_duplicate(incoming: Incoming) -> Duplicate | None:
    newest = sorted(incoming.recent_entries, key=get_age_key, reverse=True)
    return find_duplicate(_redact_params(incoming)[0], newest[: incoming.limits.recent_count])


def _redact_params(incoming: Incoming) -> tuple[StoreParams, tuple[str, ...]]:
    """Return the parameters without secrets, and the kinds of the removed secrets."""
    params = incoming.params
    texts = [params.key, params.value, dict(params.metadata)]
    redaction = redact_json(texts, incoming.known_secrets)
    if not redaction.kinds:
        return params, ()
    key, value, metadata = redaction.value
    return replace(params, key=key, value=value, metadata=metadata), redaction.kinds


def _decide_merge(
    incoming: Incoming, params: StoreParams, findings: tuple[RuleFinding, ...]
) -> IngressDecision:
    duplicate = _find_recent_duplicate(incoming)
    if duplicate is None:  # no rule but the duplicate's asks for a merge
        raise AssertionError(findings)
    merged = merge_duplicate(duplicate, set_default_ttl(params))
    return IngressDecision(IngressOutcome.MERGE, findings, merged, duplicate.entry)


def _quarantine(params: StoreParams, findings: Iterable[RuleFinding]) -> StoreParams:
    reasons = [{"reason": str(finding.reason), "detail": finding.detail} for finding in findings]
    metadata = {**params.metadata, QUARANTINE_REASONS: reasons}
    return replace(params, tier=Tier.QUARANTINE, ttl_seconds=None, metadata=metadata)
