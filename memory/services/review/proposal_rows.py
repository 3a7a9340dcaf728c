"""Proposals between their rows and the logic's words."""

from dataclasses import asdict
from typing import Any

from memory.core.records import Source, StoreParams, Tier
from memory.logic.review.proposals import Kind, Proposal, State, Target, fingerprint
from memory.models import Proposal as Row


LONGEST_REASON = 500


def row_of(proposal: Proposal) -> dict[str, Any]:  # Any: a row's fields
    """What is kept of it, besides whose it is."""
    return {
        "kind": proposal.kind.value,
        "targets": [asdict(one) for one in proposal.targets],
        "new": _json_of(proposal.new) if proposal.new else None,
        "reason": proposal.reason[:LONGEST_REASON],
        "by": proposal.by[:120],
        "score": proposal.score,
        "fingerprint": fingerprint(proposal),
    }


def proposed(row: Row) -> Proposal:
    place = row.namespace.text
    return Proposal(
        id=str(row.pk),
        kind=Kind(row.kind),
        namespace=place,
        targets=tuple(Target(**one) for one in row.targets),
        new=_params_of(place, row.new) if row.new else None,
        reason=row.reason,
        by=row.by,
        score=row.score,
        state=State(row.state),
    )


def _json_of(params: StoreParams) -> dict[str, Any]:
    return {
        "key": params.key,
        "value": params.value,
        "metadata": dict(params.metadata),
        "category": params.category,
        "tier": params.tier.value,
        "importance": params.importance,
        "ttl_seconds": params.ttl_seconds,
        "source": asdict(params.source),
    }


def _params_of(place: str, new: dict[str, Any]) -> StoreParams:
    return StoreParams(
        namespace=place,
        **{**new, "tier": Tier(new["tier"]), "source": Source(**new["source"])},
    )
