"""Measure how often people accept proposals, and list the rules that permanent rejections make."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Case, F, Value, When
from django.utils import timezone

from accounts.tenancy import tenant
from memory.core.records import Json, Tier
from memory.logic.entries.tiers import TierAction
from memory.logic.review.proposals import ReviewState
from memory.logic.review.review_rules import Precision, compute_precision
from memory.models import Entry, Proposal
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.review.review_outcomes import annotate_verdicts
from memory.services.review.review_queue import (
    CONTRADICTION,
    HELD,
    SUPERSEDES,
    ReviewItem,
    get_value,
    map_writable,
)


PERIOD: Final = timedelta(days=30)
MAX_RULES: Final = 200

# The decisions about quarantined entries, as states of proposals.
_STATES: Final = {
    str(TierAction.APPROVE): ReviewState.APPLIED,
    str(TierAction.REJECT): ReviewState.REJECTED,
}


@dataclass(frozen=True, slots=True)
class RejectionRule(ReviewItem):
    """A permanent rejection. Nothing with the same meaning is proposed or stored in its namespace again."""

    at: datetime | None
    by: str
    reason: str
    can_decide: bool = False

    @property
    def value(self) -> Json:
        """Return the rejected value, or the targets' values if the proposal has no new one."""
        if isinstance(self.row, Proposal) and self.row.new is None:
            return [target["value"] for target in self.row.targets]
        return get_value(self.row)


def measure_agreement(caller: MemoryCaller, *, now: datetime | None = None) -> dict[str, Precision]:
    """Return the precision in the last thirty days by kind, for proposals and for quarantined entries."""
    since = (now or timezone.now()) - PERIOD
    outcomes: dict[str, list[tuple[ReviewState, bool]]] = {}
    with tenant([caller.team_id]):
        for kind, verdict, edited in _list_outcomes(caller, since):
            outcomes.setdefault(kind, []).append((ReviewState(verdict), edited))
        for move in _list_entry_decisions(caller, since):
            outcomes.setdefault(HELD, []).append((_STATES[move], False))
    return {kind: compute_precision(pairs) for kind, pairs in sorted(outcomes.items())}


def list_rejection_rules(caller: MemoryCaller) -> list[RejectionRule]:
    """Return the rules of the namespaces that the caller may read, newest first."""
    with tenant([caller.team_id]):
        rules = [*_list_rejected_proposals(caller), *_list_rejected_entries(caller)]
        can_write = map_writable(caller, [rule.namespace for rule in rules])
    ordered = sorted(
        rules, key=lambda rule: (rule.at is not None, rule.at, str(rule.id)), reverse=True
    )
    return [replace(rule, can_decide=can_write[rule.namespace.pk]) for rule in ordered[:MAX_RULES]]


def _list_outcomes(caller: MemoryCaller, since: datetime) -> Iterable[tuple[str, str, bool]]:
    """Return the kind and the verdict of each decided proposal, and whether it was edited."""
    proposals = select_visible(caller, Proposal)
    kind = Case(When(SUPERSEDES, then=Value(CONTRADICTION)), default=F("kind"))
    rows = annotate_verdicts(proposals.filter(decided_at__gte=since)).annotate(queue_kind=kind)
    outcomes: Iterable[tuple[str, str, bool]] = rows.values_list("queue_kind", "verdict", "edited")
    return outcomes


def _list_entry_decisions(caller: MemoryCaller, since: datetime) -> Iterable[str]:
    """Return the decision about each reviewed entry, as a word of ``TierAction``."""
    entries = select_visible(caller, Entry)
    reviewed = entries.filter(
        deleted_at=None, updated_at__gte=since, metadata__review__in=list(_STATES)
    )
    return reviewed.values_list("metadata__review", flat=True)


def _list_rejected_proposals(caller: MemoryCaller) -> Sequence[RejectionRule]:
    proposals = select_visible(caller, Proposal)
    rows = proposals.filter(state=ReviewState.REJECTED_ALWAYS.value).select_related("namespace")
    return [
        RejectionRule(row, row.decided_at, row.decided_by, row.decision)
        for row in rows.order_by("-decided_at", "-id")[:MAX_RULES]
    ]


def _list_rejected_entries(caller: MemoryCaller) -> Sequence[RejectionRule]:
    entries = select_visible(caller, Entry)
    rows = entries.filter(
        tier=Tier.QUARANTINE.value,
        deleted_at=None,
        metadata__contains={"review": str(TierAction.REJECT)},
    )
    return [
        RejectionRule(row, row.updated_at, "", str(row.metadata.get("review_reason") or ""))
        for row in rows.select_related("namespace").order_by("-updated_at", "-id")[:MAX_RULES]
    ]
