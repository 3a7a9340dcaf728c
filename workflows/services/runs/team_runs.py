"""The list of a team's runs for its admins: what ran, how long, and at what cost. What people said stays hidden.

Each look at the list is recorded in the audit trail. Inputs, outputs, errors and people of somebody else's run can be seen
by nobody; a person's memory can be viewed with emergency access.
"""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from accounts import audit
from accounts.access import Principal
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from workflows import permissions
from workflows.execution.usage.counting import count_new
from workflows.models import Feedback, Run
from workflows.models.reports.feedback import Rating


@retry_on_conflict
def open_team_list(principal: Principal, team_id: UUID, **filters: str) -> None:
    """Check that the principal may list the team's runs, count those that have ended, and record the look at the list."""
    permissions.check_view_usage(principal, team_id)
    count_new(team_id)
    with tenant([team_id]):
        audit.record(
            team_id=team_id,
            actor=principal.actor,
            actor_kind=principal.kind,
            action="run.team_listed",
            subject=f"team:{team_id}",
            detail={name: value for name, value in filters.items() if value},
        )


def describe_runs(runs: Sequence[Run]) -> list[dict[str, object]]:
    """Return what is shown of the runs of the list, which the caller has found with ``list_team_runs``."""
    ratings: dict[UUID, list[int]] = defaultdict(list)
    feedback = Feedback.objects.unscoped().filter(run__in=[run.pk for run in runs])
    for run_id, rating in feedback.order_by("pk").values_list("run_id", "rating"):
        ratings[run_id].append(rating)
    return [_describe_run(run, ratings[run.pk]) for run in runs]


def _describe_run(run: Run, ratings: Sequence[int]) -> dict[str, object]:
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
