"""Convert proposals to and from their database rows."""

from dataclasses import asdict
from typing import Any

from memory.core.entry_codec import PARAMS, from_json, to_json
from memory.core.records import StoreParams
from memory.logic.review.proposals import (
    ChangeKind,
    Proposal,
    ReviewState,
    Target,
    compute_fingerprint,
)
from memory.models import Proposal as Row


MAX_REASON_LENGTH = 500
_FIELDS = tuple(name for name in PARAMS if name != "namespace")


def to_row_fields(proposal: Proposal) -> dict[str, Any]:  # Any: a row's fields
    """Return the fields of the row, except id, team, namespace and run."""
    return {
        "kind": proposal.kind.value,
        "targets": [asdict(target) for target in proposal.targets],
        "new": to_json(proposal.new, _FIELDS) if proposal.new else None,
        "reason": proposal.reason[:MAX_REASON_LENGTH],
        "by": proposal.author[:120],
        "score": proposal.score,
        "fingerprint": compute_fingerprint(proposal),
    }


def to_proposal(row: Row) -> Proposal:
    """Return the proposal of the row, which must be loaded with its namespace."""
    namespace = row.namespace.text
    return Proposal(
        id=str(row.pk),
        kind=ChangeKind(row.kind),
        namespace=namespace,
        targets=tuple(Target(**target) for target in row.targets),
        new=from_json(StoreParams, row.new, namespace=namespace) if row.new else None,
        reason=row.reason,
        author=row.by,
        score=row.score,
        state=ReviewState(row.state),
    )
