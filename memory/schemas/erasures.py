"""Bodies of the API about shared memories of erased persons, about which somebody has to decide."""

from uuid import UUID

from config.http.openapi import Body, with_example
from memory.schemas.entries import Moment
from memory.services.erasure.erasure_decisions import Decision, DecisionState


class DecisionIn(Body):
    """What is to become of a memory. ``reopen`` takes back that it was kept; what was erased is gone for good."""

    model_config = with_example(decision="keep")

    decision: Decision


class DecisionOut(Body):
    """A shared memory that runs for an erased person wrote, in which others have words, too.

    ``decision`` is empty until somebody has decided; ``key`` and ``namespace`` are empty if the memory is gone.
    """

    erasure: UUID
    entry: UUID
    erased_at: Moment
    key: str
    namespace: str
    decision: str
    decided_at: Moment | None


def decision_out(state: DecisionState) -> DecisionOut:
    entry = state.entry
    return DecisionOut(
        erasure=state.erasure_id,
        entry=state.entry_id,
        erased_at=state.erased_at,
        key=entry.key if entry else "",
        namespace=entry.namespace.text if entry else "",
        decision=state.decision,
        decided_at=state.decided_at,
    )
