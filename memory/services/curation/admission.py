"""Admit the drafts of a curator through the gate: store them, or propose those that need a review."""

from dataclasses import dataclass, replace

from config.ids import uuid7
from memory.core.records import StoreParams
from memory.logic.curation.curator import CurationResult, decide_draft, store_drafts
from memory.logic.entries.ingress import IngressLimits, IngressOutcome
from memory.logic.review.proposal_rules import propose_addition
from memory.logic.review.proposals import Proposal
from memory.logic.review.review_rules import needs_review
from memory.services.curation.learning_rules import LearningRule
from memory.services.gateway.namespace_access import Batch, NamespaceAccess
from memory.services.review.proposals import list_rejected_values, save_proposals


LIMITS = IngressLimits(recent_count=500, min_terms=1)


@dataclass(frozen=True, slots=True)
class AdmissionResult:
    """The outcomes of the drafts. ``keys`` are those of new entries and of entries with one more proof."""

    outcomes: tuple[IngressOutcome, ...]
    keys: tuple[str, ...]
    proposed: int
    stored: int


def admit(
    access: NamespaceAccess,
    batch: Batch,
    curation_result: CurationResult,
    *,
    run_id: str,
    learning: LearningRule,
    known_secrets: tuple[str, ...],
) -> AdmissionResult:
    rejected_values = list_rejected_values(batch.namespace)
    direct_drafts: list[StoreParams] = []
    review_drafts: list[StoreParams] = []
    for draft in curation_result.drafts:
        is_reviewed = needs_review(
            _build_proposal(draft, curation_result.by),
            learning.review,
            sample_share=learning.sampled,
        )
        (review_drafts if is_reviewed else direct_drafts).append(draft)
    stored_result = store_drafts(
        replace(curation_result, drafts=tuple(direct_drafts)),
        batch.store,
        rejected=rejected_values,
        known_secrets=known_secrets,
        limits=LIMITS,
    )
    decisions = [*stored_result.decisions]
    proposals: list[Proposal] = []
    for draft in review_drafts:
        decision = decide_draft(draft, batch.store, rejected_values, known_secrets, LIMITS)
        if decision.outcome is IngressOutcome.ADMIT and decision.params:
            proposals.append(_build_proposal(decision.params, curation_result.by))
            continue
        decisions.append(decision)
        if decision.params:  # quarantined, or one more proof: neither needs a proposal
            batch.store.store(decision.params)
    proposed = save_proposals(
        access, proposals, run_id=run_id, mode=learning.review, sampled=learning.sampled
    )
    stored_outcomes = (IngressOutcome.ADMIT, IngressOutcome.MERGE)
    keys = [
        decision.params.key
        for decision in decisions
        if decision.params and decision.outcome in stored_outcomes
    ]
    stored = sum(decision.params is not None for decision in decisions)
    return AdmissionResult(
        tuple(decision.outcome for decision in decisions), tuple(keys), proposed, stored
    )


def _build_proposal(draft: StoreParams, by: str) -> Proposal:
    return propose_addition(draft, lambda: str(uuid7()), by=by)
