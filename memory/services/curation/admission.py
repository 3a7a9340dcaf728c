"""Admit the drafts of a curator through the content filter: store them, or propose those that need a review."""

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
    """The outcomes of the drafts. ``keys`` has the keys of entries that are new or got one more proof."""

    outcomes: tuple[IngressOutcome, ...]
    keys: tuple[str, ...]
    proposed: int
    stored: int


def admit_drafts(
    access: NamespaceAccess,
    batch: Batch,
    curation_result: CurationResult,
    *,
    run_id: str,
    learning: LearningRule,
    known_secrets: tuple[str, ...],
) -> AdmissionResult:
    """Store the drafts that need no review, and save the others as proposals, if the content filter admits them."""
    rejected_values = list_rejected_values(batch.namespace)
    direct_drafts: list[StoreParams] = []
    review_drafts: list[StoreParams] = []
    for draft in curation_result.drafts:
        proposal = _build_proposal(draft, curation_result.curator)
        is_reviewed = needs_review(proposal, learning.review, sample_share=learning.sampled)
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
            proposals.append(_build_proposal(decision.params, curation_result.curator))
            continue
        decisions.append(decision)
        if decision.params:  # quarantined, or one more proof: neither needs a proposal
            batch.store.store(decision.params)
    proposed = save_proposals(access, proposals, run_id=run_id, learning=learning)
    outcomes = tuple(decision.outcome for decision in decisions)
    stored = [(decision.outcome, decision.params.key) for decision in decisions if decision.params]
    kept_outcomes = (IngressOutcome.ADMIT, IngressOutcome.MERGE)
    keys = tuple(key for outcome, key in stored if outcome in kept_outcomes)
    return AdmissionResult(outcomes, keys, proposed, len(stored))


def _build_proposal(draft: StoreParams, author: str) -> Proposal:
    return propose_addition(draft, lambda: str(uuid7()), author=author)
