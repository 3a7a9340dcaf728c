"""The list of a team's runs for its admins: what ran, how long, and at what cost. What people said stays hidden.

Each look at the list is recorded in the audit trail. Inputs, outputs, errors and people of somebody else's run can be seen
by nobody; a person's memory can be viewed with emergency access.
"""

from uuid import UUID

from django.db.models import QuerySet

from accounts import audit
from accounts.access import Principal
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from workflows import selectors
from workflows.execution.usage.counting import count_batch
from workflows.models import Run
from workflows.models.feedback import Rating
from workflows.run_filters import RunFilter, sort_runs


@retry_on_conflict
def list_team_runs(
    principal: Principal,
    team_id: UUID,
    run_filter: RunFilter,
    *,
    workflow_id: UUID | None = None,
    sort: str = "",
) -> "QuerySet[Run]":
    """Return the team's runs with the counts of their feedback, and record who looks at them."""
    rows = run_filter.apply(selectors.list_team_runs(principal, team_id))
    if workflow_id is not None:
        rows = rows.filter(workflow=selectors.find_workflow(principal, workflow_id))
    if sort:
        rows = sort_runs(rows, sort)
    count_batch(team_id)
    with tenant([team_id]):
        audit.record(
            team_id=team_id,
            actor=principal.actor,
            actor_kind=principal.kind,
            action="run.team_listed",
            subject=f"team:{team_id}",
            detail={"status": run_filter.status, "workflow": str(workflow_id or "")},
        )
    return rows.prefetch_related("feedback")


def describe_run(run: Run) -> dict[str, object]:
    """Return what is shown of a run of the list."""
    ratings = [feedback.rating for feedback in run.feedback.all()]
    return {
        "id": run.pk,
        "workflow_id": run.workflow_id,
        "workflow": run.workflow.name,
        "api_key": run.api_key.name if run.api_key else None,
        "status": run.status,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
        "elapsed": run.elapsed,
        "prompt_tokens": run.prompt_tokens,
        "completion_tokens": run.completion_tokens,
        "cost": run.cost,
        "liked": ratings.count(Rating.UP),
        "disliked": ratings.count(Rating.DOWN),
    }
