"""The gate before working memory, with what the store knows: what is new there, what people refused, what is in the way.

``memory.logic.entries.ingress`` decides; here its decision meets the namespace. A refusal is an error, so that
it is audited; what the gate did with what it let in stands in the audit row of the write.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from django.utils import timezone

from memory.core.entry_codec import CONTENT, get_state
from memory.core.errors import NotAdmitted
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.logic.entries.held_entries import TARGET_KEY as TARGET_KEY
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import (
    FindingReason,
    Incoming,
    IngressDecision,
    IngressLimits,
    IngressOutcome,
    ScreeningResult,
    decide_ingress,
    screen_params,
)
from memory.logic.entries.origins import ContentOrigin, parse_origin
from memory.logic.entries.repetition import is_generated_key, is_statement, merge_repetition
from memory.logic.entries.texts import list_texts
from memory.logic.entries.tiers import (
    TierAction,
    find_promotion_reason,
    is_verified,
    protect_existing,
)
from memory.logic.entries.write_batch import find_entry
from memory.models import Namespace
from memory.providers.postgres import rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.namespace_access import NamespaceAccess


LIMITS: Final = IngressLimits()
MOST_REJECTED: Final = 200  # of the newest; what was refused years ago may be said again

MOST_ALIKE: Final = 10
LONGEST_ASKED: Final = 2_000  # characters of a text that is searched for

Lookup = Callable[[str], MemoryEntry | None]
Alike = Callable[[StoreParams], Sequence[MemoryEntry]]


def _nothing_alike(_params: StoreParams) -> Sequence[MemoryEntry]:
    return ()


@dataclass(frozen=True, slots=True)
class Known:
    """The contents of a namespace, as far as the gate has to know them. ``can_hold``: it has a quarantine that people
    look into.

    ``alike`` searches for entries that resemble what is to be stored, however old.
    """

    present: Lookup
    recent: Sequence[MemoryEntry] = ()
    rejected: Sequence[Json] = ()
    can_hold: bool = True
    alike: Alike = _nothing_alike


class Who(StrEnum):
    """At whose word it is written; a run's at its author's."""

    RUN = "run"
    KEY = "key"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Passed:
    """The parameters to store, and their part of the audit row."""

    params: StoreParams
    detail: Mapping[str, Json]


def check_ingress(params: StoreParams, ask: Callable[[], Known], who: Who) -> Passed:
    """Raises NotAdmitted with the reasons. ``ask`` is called where the namespace has to be looked at.

    Whoever writes it, there is no secret in it; what a stranger says gives no orders; and what a run
    says is there once, however often it is said.
    """
    if params.tier is not Tier.WORKING:
        return _check_content(params, ask, origin_by(params, who))
    known_entries, origin = ask(), parse_origin(params.metadata.get("origin"), _OTHERWISE[who])
    decision = decide_ingress(
        Incoming(params, origin, known_entries.recent, known_entries.rejected, limits=LIMITS)
    )
    stored = decision.params
    if stored is None or (
        decision.outcome is IngressOutcome.QUARANTINE and not known_entries.can_hold
    ):
        raise _refusal(decision)
    if decision.outcome is IngressOutcome.QUARANTINE:
        return Passed(_hold_apart(stored, known_entries), _detail(decision))
    return Passed(
        _for_good(protect_existing(stored, known_entries.present(stored.key)), known_entries),
        _detail(decision),
    )


def check_amendment(params: StoreParams, ask: Callable[[], Known], who: Who) -> Passed:
    """Check the new content of an entry, whatever its tier. Content that has to wait for a person is stored beside it."""
    if params.tier is Tier.QUARANTINE:
        return Passed(screen_params(params, origin_by(params, who)).params, {})
    return _check_content(params, ask, origin_by(params, who))


def load_known(access: NamespaceAccess, namespace: Namespace | None) -> Known:
    """Look at a namespace. It is locked, so that nothing comes between the decision and the write."""
    store = access.store()

    def search_alike(params: StoreParams) -> Sequence[MemoryEntry]:
        return store.recall(like(params))

    if access.external is not None:
        return Known(
            lambda key: find_entry(store, access.text, key),
            store.recall(MemoryQuery(access.text, top_k=LIMITS.recent_count)),
            can_hold=False,
            alike=search_alike,
        )
    if namespace is None:
        return Known(lambda key: None)
    visible = rows.visible(namespace, access.now).order_by("-updated_at", "-id")
    refused = rows.living(namespace).filter(
        tier=Tier.QUARANTINE, metadata__review=str(TierAction.REJECT)
    )
    refused = refused.order_by("-updated_at", "-id")

    def present(key: str) -> MemoryEntry | None:
        fresh = rows.living(namespace).exclude(expires_at__lte=access.now)
        entry = fresh.filter(key=key).first()
        return rows.entry_of(entry, namespace.text) if entry else None

    return Known(
        present,
        [rows.entry_of(entry, namespace.text) for entry in visible[: LIMITS.recent_count]],
        list(refused.values_list("value", flat=True)[:MOST_REJECTED]),
        alike=search_alike,
    )


def who_writes(caller: MemoryCaller) -> Who:
    if caller.reach is not None:
        return Who.RUN
    return Who.KEY if caller.principal.kind == "key" else Who.PERSON


def origin_otherwise(who: Who) -> ContentOrigin:
    """Return the origin of content that names none: what a program writes comes from outside."""
    return _OTHERWISE[who]


def origin_by(params: StoreParams, who: Who) -> ContentOrigin:
    """A person's own typing is theirs, wherever they had it from."""
    return (
        _OTHERWISE[who]
        if who is Who.PERSON
        else parse_origin(params.metadata.get("origin"), _OTHERWISE[who])
    )


_OTHERWISE: Final = {
    Who.RUN: ContentOrigin.MODEL,
    Who.KEY: ContentOrigin.TOOL,
    Who.PERSON: ContentOrigin.PERSON,
}


def _check_content(params: StoreParams, ask: Callable[[], Known], origin: ContentOrigin) -> Passed:
    decision = screen_params(params, origin)
    stored = decision.params
    detail = _detail(decision) if decision.findings else {}
    if stored.tier is not Tier.QUARANTINE:
        return _repeat(stored, ask, decision) or Passed(stored, detail)
    known_entries = ask()
    if params.tier is not Tier.QUARANTINE and not known_entries.can_hold:
        raise _refusal(decision)
    return Passed(_hold_apart(stored, known_entries), detail)


def _repeat(
    params: StoreParams, ask: Callable[[], Known], judgement: ScreeningResult
) -> Passed | None:
    """Return what is stored already, with one proof more, if this says the same under a generated key."""
    if not is_generated_key(params.key, params.source.run_id) or not is_statement(params.value):
        return None
    known_entries = ask()
    if known_entries.present(params.key) is not None:
        return None
    again = merge_repetition(
        params, [*known_entries.recent, *known_entries.alike(params)], timezone.now()
    )
    if again is None:
        return None
    return Passed(
        again,
        {
            "ingress": str(IngressOutcome.MERGE),
            "reasons": [*_reasons(judgement), str(FindingReason.DUPLICATE)],
        },
    )


def like(params: StoreParams) -> MemoryQuery:
    """The question that finds what may say the same."""
    text = " ".join(list_texts(params.value))[:LONGEST_ASKED]
    same = {"category": params.category}
    return MemoryQuery(params.namespace, query_text=text, filter=same, top_k=MOST_ALIKE)


def _hold_apart(params: StoreParams, known_entries: Known) -> StoreParams:
    """Return what waits for a person under a key of its own, so that it replaces nothing in use."""
    present = known_entries.present(params.key)
    if present is None or present.tier is Tier.QUARANTINE:
        return params
    return hold_entry(params.key, params)


def _for_good(params: StoreParams, known_entries: Known) -> StoreParams:
    """Keep verified content without an end. Where no sweep of ours comes by, keep what a sweep would promote."""
    if params.tier is not Tier.WORKING:
        return params
    written = MemoryEntry("", params.namespace, params.key, **get_state(params, CONTENT))
    if is_verified(written) or (not known_entries.can_hold and find_promotion_reason(written)):
        return replace(params, tier=Tier.LONG_TERM, ttl_seconds=None)
    return params


def _detail(decision: IngressDecision | ScreeningResult) -> dict[str, Json]:
    return {"ingress": str(decision.outcome), "reasons": _reasons(decision)}


def _refusal(decision: IngressDecision | ScreeningResult) -> NotAdmitted:
    reasons = "; ".join(
        f"{finding.reason} ({finding.detail})" if finding.detail else str(finding.reason)
        for finding in decision.findings
    )
    return NotAdmitted(f"Rejected by the content filter: {reasons}", tuple(_reasons(decision)))


def _reasons(decision: IngressDecision | ScreeningResult) -> list[str]:
    return [str(finding.reason) for finding in decision.findings]
