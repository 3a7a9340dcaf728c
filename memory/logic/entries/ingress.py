"""The gate to memory: what may enter working memory, what waits in quarantine, what stays out.

Each rule is a small function over what is coming in; all are asked, each gives its reason, and the
strictest wins. A secret never gets further than this in clear.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from memory.core.recall.tokens import terms
from memory.core.records import Json, MemoryEntry, StoreParams, Tier
from memory.core.values import compact, size_of
from memory.logic.entries.duplicates import Duplicate, Likeness, find_duplicate, likeness, merged
from memory.logic.entries.instructions import find_orders
from memory.logic.entries.origins import STRANGERS
from memory.logic.entries.origins import Origin as Origin
from memory.logic.entries.origins import origin_of as origin_of
from memory.logic.entries.secrets import redact_json
from memory.logic.entries.text_similarity import is_unspaced
from memory.logic.entries.tiers import fresh


HELD_FOR: Final = "quarantined_for"  # in the metadata: {reason, detail} each


class Outcome(StrEnum):
    """From the mildest to the strictest."""

    ADMIT = "admit"
    MERGE = "merge"  # one proof more for what is there
    QUARANTINE = "quarantine"
    REFUSE = "refuse"


class Reason(StrEnum):
    TOO_SHORT = "too_short"
    DUPLICATE = "duplicate"
    SECRET = "secret"  # noqa: S105 - the name of a rule
    TOO_LARGE = "too_large"
    GIVES_ORDERS = "gives_orders"
    REJECTED_BEFORE = "rejected_before"
    FROM_OUTSIDE = "from_outside"  # and its author didn't say that this may be remembered at once


@dataclass(frozen=True, slots=True)
class Limits:
    fewest_terms: int = 2
    most_bytes: int = 16_384
    recent: int = 50  # so many of the newest entries are compared


@dataclass(frozen=True, slots=True)
class Incoming:
    """``recent``: the newest entries of the namespace; ``rejected``: what people refused there."""

    params: StoreParams
    origin: Origin = Origin.MODEL
    recent: Sequence[MemoryEntry] = ()
    rejected: Sequence[Json] = ()
    known_secrets: tuple[str, ...] = ()
    limits: Limits = Limits()
    hold: bool = False  # whoever asks wants it looked at first, whatever it says


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a rule objects; ``detail`` is for people and never quotes a secret."""

    reason: Reason
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """``params`` is what to store, if anything: redacted, in its tier, under its key, with reasons."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    params: StoreParams | None
    merged_into: MemoryEntry | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What to store, and what was found in it. ``outcome``: to admit, or to quarantine."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    params: StoreParams


Rule = Callable[[Incoming], Finding | None]


def decide(incoming: Incoming) -> Decision:
    found = [rule(incoming) for rule in RULES]
    findings = tuple(one for one in found if one)
    params, _ = _cleaned(incoming)
    outcome = max((one.outcome for one in findings), key=_strictness, default=Outcome.ADMIT)
    match outcome:
        case Outcome.REFUSE:
            return Decision(outcome, findings, None)
        case Outcome.QUARANTINE:
            held = replace(params, tier=Tier.QUARANTINE, ttl_seconds=None)
            return Decision(outcome, findings, _with_reasons(held, findings))
        case Outcome.MERGE:
            return _merging(incoming, params, findings)
        case _:
            return Decision(outcome, findings, fresh(params))


def judge(params: StoreParams, origin: Origin, *, hold: bool = False) -> Judged:
    """Of what is kept for good, or said: no secret in it, and no order of a stranger.

    How long it is and whether it was said before is its author's affair.
    """
    incoming = Incoming(params, origin, hold=hold)
    cleaned, kinds = _cleaned(incoming)
    secret = Finding(Reason.SECRET, Outcome.ADMIT, ", ".join(kinds)) if kinds else None
    against = [one for one in (from_outside(incoming), gives_orders(incoming)) if one]
    findings = tuple(one for one in (secret, *against) if one)
    if secret:
        cleaned = replace(cleaned, metadata={**cleaned.metadata, "redacted": list(kinds)})
    if not against:
        return Judged(Outcome.ADMIT, findings, cleaned)
    held = replace(cleaned, tier=Tier.QUARANTINE, ttl_seconds=None)
    return Judged(Outcome.QUARANTINE, findings, _with_reasons(held, against))


def reasons_held(entry: MemoryEntry) -> tuple[str, ...]:
    """Why it waits for a person; nothing where it is in use. An author's own metadata may look alike."""
    found = entry.metadata.get(HELD_FOR)
    if entry.tier is not Tier.QUARANTINE or not isinstance(found, list):
        return ()
    return tuple(str(one["reason"]) for one in found if isinstance(one, dict) and "reason" in one)


def origin_named(params: StoreParams) -> Origin:
    """Authors say in the metadata whose words they store; otherwise they are a model's."""
    return origin_of(params.metadata.get("origin"))


def too_short(incoming: Incoming) -> Finding | None:
    """A value that is no text, such as a number, is as short as it needs to be."""
    value, limits = incoming.params.value, incoming.limits
    if not isinstance(value, str) or _length(value) >= limits.fewest_terms:
        return None
    return Finding(Reason.TOO_SHORT, Outcome.REFUSE, f"fewer than {limits.fewest_terms} words")


def duplicate_of_recent(incoming: Incoming) -> Finding | None:
    found = _duplicate(incoming)
    return Finding(Reason.DUPLICATE, Outcome.MERGE, found.entry.key) if found else None


def contains_secret(incoming: Incoming) -> Finding | None:
    _, kinds = _cleaned(incoming)
    return Finding(Reason.SECRET, Outcome.QUARANTINE, ", ".join(kinds)) if kinds else None


def over_size(incoming: Incoming) -> Finding | None:
    size, most = size_of(incoming.params.value), incoming.limits.most_bytes
    if size <= most:
        return None
    return Finding(Reason.TOO_LARGE, Outcome.QUARANTINE, f"{size} bytes of {most}")


def from_outside(incoming: Incoming) -> Finding | None:
    return Finding(Reason.FROM_OUTSIDE, Outcome.QUARANTINE) if incoming.hold else None


def gives_orders(incoming: Incoming) -> Finding | None:
    if incoming.origin not in STRANGERS:
        return None
    value = incoming.params.value
    orders = find_orders(value if isinstance(value, str) else compact(value))
    if not orders:
        return None
    detail = "; ".join(f"{one.rule}: {one.excerpt}" if one.excerpt else one.rule for one in orders)
    return Finding(Reason.GIVES_ORDERS, Outcome.QUARANTINE, detail[:500])


def rejected_before(incoming: Incoming) -> Finding | None:
    value = incoming.params.value
    if all(likeness(value, one) is Likeness.DIFFERENT for one in incoming.rejected):
        return None
    return Finding(Reason.REJECTED_BEFORE, Outcome.REFUSE)


RULES: tuple[Rule, ...] = (
    too_short,
    rejected_before,
    over_size,
    contains_secret,
    from_outside,
    gives_orders,
    duplicate_of_recent,
)


def _strictness(outcome: Outcome) -> int:
    return list(Outcome).index(outcome)


def _length(text: str) -> int:
    """In words; a pair of Chinese characters is no third word."""
    return sum(not (len(one) > 1 and is_unspaced(one)) for one in terms(text))


def _duplicate(incoming: Incoming) -> Duplicate | None:
    newest = sorted(incoming.recent, key=_age, reverse=True)[: incoming.limits.recent]
    return find_duplicate(_cleaned(incoming)[0], newest)


def _cleaned(incoming: Incoming) -> tuple[StoreParams, tuple[str, ...]]:
    """Without secrets in value, metadata or key; and which kinds there were."""
    params = incoming.params
    together = [params.key, params.value, dict(params.metadata)]
    done = redact_json(together, incoming.known_secrets)
    if not done.kinds:
        return params, ()
    key, value, metadata = done.value
    return replace(params, key=key, value=value, metadata=metadata), done.kinds


def _merging(incoming: Incoming, params: StoreParams, findings: tuple[Finding, ...]) -> Decision:
    found = _duplicate(incoming)
    if found is None:  # no rule but the duplicate's asks for a merge
        raise AssertionError(findings)
    return Decision(Outcome.MERGE, findings, merged(found, fresh(params)), found.entry)


def _with_reasons(params: StoreParams, findings: Iterable[Finding]) -> StoreParams:
    reasons = [{"reason": str(one.reason), "detail": one.detail} for one in findings]
    return replace(params, metadata={**params.metadata, HELD_FOR: reasons})


def _age(entry: MemoryEntry) -> tuple[str, str]:
    return (entry.updated_at.isoformat() if entry.updated_at else "", entry.id)
