"""Routes of ``/api/v1/runs/{id}/feedback``, and the list of a team's runs for its admins."""

from functools import partial
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Query, Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from config.http.pages import Listing, Pages
from workflows import selectors
from workflows.models import Feedback, Run
from workflows.run_filters import read_runs, sort_runs
from workflows.schemas.runs import FeedbackIn, FeedbackOut, TeamRunOut, TeamRunsQuery
from workflows.services.runs import feedback, team_runs


router = Router(auth=api_auth(), tags=["runs"])


@router.get("/team-runs", response=list[TeamRunOut], summary="List the runs of a team")
@paginate(Pages)
def list_team_runs(request: HttpRequest, filters: Query[TeamRunsQuery]) -> Listing[Run]:
    """Return the runs of all members, for admins. Inputs, outputs and people stay hidden; each request is audited."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    rows = filters.build_filter().apply(selectors.list_team_runs(principal, team_id))
    if filters.workflow is not None:
        rows = rows.filter(workflow=selectors.find_workflow(principal, filters.workflow))
    team_runs.open_team_list(
        principal, team_id, status=filters.status or "", workflow=str(filters.workflow or "")
    )
    if filters.sort:
        rows = sort_runs(rows, filters.sort)
    return Listing(partial(read_runs, rows), team_runs.describe_runs)


@router.get("/runs/{uuid:run_id}/feedback", response=list[FeedbackOut], summary="List feedback")
@paginate(Pages)
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
