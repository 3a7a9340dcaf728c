"""Proposals between their rows and the logic's words."""

from dataclasses import asdict
from typing import Any

from memory.core.entry_codec import PARAMS, from_json, to_json
from memory.core.records import StoreParams
from memory.logic.review.proposals import Kind, Proposal, State, Target, fingerprint
from memory.models import Proposal as Row


LONGEST_REASON = 500


def row_of(proposal: Proposal) -> dict[str, Any]:  # Any: a row's fields
    """What is kept of it, besides whose it is."""
    return {
        "kind": proposal.kind.value,
        "targets": [asdict(one) for one in proposal.targets],
        "new": to_json(proposal.new, _WRITTEN) if proposal.new else None,
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
        new=from_json(StoreParams, row.new, namespace=place) if row.new else None,
        reason=row.reason,
        by=row.by,
        score=row.score,
        state=State(row.state),
    )


_WRITTEN = tuple(name for name in PARAMS if name != "namespace")
