"""Routes of ``/api/v1/runs/{id}/feedback``, and the list of a team's runs for its admins."""

from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Query, Router, Status

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from workflows import selectors
from workflows.models import Feedback
from workflows.schemas.runs import FeedbackIn, FeedbackOut, TeamRunPageOut, TeamRunsQuery
from workflows.services.runs import feedback, team_runs


router = Router(auth=api_auth(), tags=["runs"])


@router.get("/team-runs", response=TeamRunPageOut, summary="List the runs of a team")
def list_team_runs(request: HttpRequest, filters: Query[TeamRunsQuery]) -> dict[str, object]:
    """Return the runs of all members, for admins. Inputs, outputs and people stay hidden; each request is audited."""
    team_id, offset = get_current_team_id(request), filters.offset
    rows = team_runs.list_team_runs(
        get_principal(request),
        team_id,
        filters.build_filter(),
        workflow_id=filters.workflow,
        sort=filters.sort,
    )
    items = [team_runs.describe_run(run) for run in rows[offset : offset + filters.limit]]
    return {"items": items, "count": rows.count()}


@router.get("/runs/{uuid:run_id}/feedback", response=list[FeedbackOut], summary="List feedback")
def list_feedback(request: HttpRequest, run_id: UUID) -> QuerySet[Feedback]:
    """Return the feedback on a run, oldest first."""
    principal = get_principal(request)
    return selectors.list_feedback(principal, selectors.find_run(principal, run_id))


@router.post("/runs/{uuid:run_id}/feedback", response=FeedbackOut, summary="Give feedback")
def give_feedback(request: HttpRequest, run_id: UUID, body: FeedbackIn) -> Feedback:
    """Say whether the answer of a run is good. It replaces your earlier feedback on this run."""
    principal = get_principal(request)
    run = selectors.find_run(principal, run_id)
    return feedback.give_feedback(principal, run, rating=body.rating, text=body.text)


@router.delete("/runs/{uuid:run_id}/feedback", response={204: None}, summary="Take feedback back")
def take_feedback_back(request: HttpRequest, run_id: UUID) -> Status[None]:
    """Delete your feedback on a run."""
    principal = get_principal(request)
    feedback.take_feedback_back(principal, selectors.find_run(principal, run_id))
    return Status(204, None)
