"""``/api/v1/memory/erasures/…``: decisions about shared memories of erased persons."""

from uuid import UUID

from django.http import HttpRequest
from ninja import Router
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from config.http.pages import Listing, Pages, list_rows
from memory.api.entries import build_caller
from memory.schemas import erasures
from memory.services.erasure.erasure_decisions import (
    DecisionState,
    decide,
    list_pending_decisions,
)


router = Router(auth=api_auth(), tags=["memory"])


@router.get("/memory/erasures/decisions", response=list[erasures.DecisionOut])
@paginate(Pages)
def list_decisions(request: HttpRequest) -> Listing[DecisionState]:
    """List the shared memories of erased persons that you may forget and about which nobody has decided yet."""
    states = list_pending_decisions(build_caller(request))
    return list_rows(states, lambda rows: [erasures.decision_out(row) for row in rows])


@router.post(
    "/memory/erasures/{uuid:erasure_id}/decisions/{uuid:entry_id}", response=erasures.DecisionOut
)
def decide_entry(
    request: HttpRequest, erasure_id: UUID, entry_id: UUID, body: erasures.DecisionIn
) -> erasures.DecisionOut:
    """Erase a memory with its history for good, keep it, or reopen the decision to keep it.

    Whoever may forget in its namespace may decide. 409 if somebody has decided otherwise.
    """
    state = decide(
        build_caller(request), erasure_id=erasure_id, entry_id=entry_id, decision=body.decision
    )
    return erasures.decision_out(state)
