"""What a curator found, through the gate: stored, or proposed where somebody is to look at it first."""

from dataclasses import dataclass, replace

from config.ids import uuid7
from memory.core.records import StoreParams
from memory.logic.curation.curator import CurationResult, decide_draft, store_drafts
from memory.logic.entries.ingress import IngressLimits, IngressOutcome
from memory.logic.review.proposal_rules import to_add
from memory.logic.review.proposals import Proposal
from memory.logic.review.review_rules import waits
from memory.services.curation.learning_rules import Learning
from memory.services.gateway.namespace_access import Batch, NamespaceAccess
from memory.services.review.proposals import list_rejected_values, save_proposals


LIMITS = IngressLimits(recent_count=500, min_terms=1)


@dataclass(frozen=True, slots=True)
class Admitted:
    """``keys``: what is remembered now that wasn't, or that has one proof more."""

    outcomes: tuple[IngressOutcome, ...]
    keys: tuple[str, ...]
    proposed: int
    stored: int


def admit(
    access: NamespaceAccess,
    batch: Batch,
    curated: CurationResult,
    *,
    run_id: str,
    learning: Learning,
    known_secrets: tuple[str, ...],
) -> Admitted:
    never = list_rejected_values(batch.namespace)
    passing: list[StoreParams] = []
    waiting: list[StoreParams] = []
    for draft in curated.drafts:
        is_reviewed = waits(_proposal(draft, curated.by), learning.review, sampled=learning.sampled)
        (waiting if is_reviewed else passing).append(draft)
    kept = store_drafts(
        replace(curated, drafts=tuple(passing)),
        batch.store,
        rejected=never,
        known_secrets=known_secrets,
        limits=LIMITS,
    )
    decisions = [*kept.decisions]
    found: list[Proposal] = []
    for draft in waiting:
        decision = decide_draft(draft, batch.store, never, known_secrets, LIMITS)
        if decision.outcome is IngressOutcome.ADMIT and decision.params:
            found.append(_proposal(decision.params, curated.by))
            continue
        decisions.append(decision)
        if (
            decision.params
        ):  # held in quarantine, or one proof more: neither waits for a person here
            batch.store.store(decision.params)
    proposed = save_proposals(
        access, found, run_id=run_id, mode=learning.review, sampled=learning.sampled
    )
    known = (IngressOutcome.ADMIT, IngressOutcome.MERGE)
    keys = [one.params.key for one in decisions if one.params and one.outcome in known]
    stored = sum(one.params is not None for one in decisions)
    return Admitted(tuple(one.outcome for one in decisions), tuple(keys), proposed, stored)


def _proposal(draft: StoreParams, by: str) -> Proposal:
    return to_add(draft, lambda: str(uuid7()), by=by)
