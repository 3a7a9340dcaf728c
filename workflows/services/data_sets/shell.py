"""Runs an evaluation for the operator at the shell, as a member of the team, and waits for its end."""

import time
from uuid import UUID

from accounts.models import Team, User
from accounts.principals import Principal, load_user_principal
from accounts.tenancy import tenant
from workflows.execution.evaluation.running import run_next_case
from workflows.models import DataSet, Evaluation, Workflow
from workflows.services.data_sets.evaluations import EvaluationRequest, start_evaluation


POLL_SECONDS = 0.5


def find_member(data_set_id: UUID, email: str = "") -> Principal | None:
    """Return the principal of the member with this address, by default of who created the data set; None without one."""
    with tenant(Team.objects.values_list("pk", flat=True)):
        data_set = DataSet.objects.unscoped().filter(pk=data_set_id).first()
        if data_set is None:
            return None
        author = data_set.created_by
        member = User.objects.filter(email=email).first() if email else author
    return load_user_principal(member) if member and member.is_active else None


def run_evaluation(
    principal: Principal, data_set: DataSet, workflow: Workflow, request: EvaluationRequest
) -> Evaluation:
    """Start an evaluation, run its cases here too, and return it when all have ended. Raises InvalidValue."""
    evaluation = start_evaluation(principal, data_set, workflow, request)
    while True:
        if run_next_case(evaluation.team_id, evaluation.pk):
            continue
        evaluation = _reload(evaluation)
        if not evaluation.is_running:
            return evaluation
        time.sleep(POLL_SECONDS)  # workers run the last cases


def _reload(evaluation: Evaluation) -> Evaluation:
    with tenant([evaluation.team_id]):
        return Evaluation.objects.unscoped().get(pk=evaluation.pk)
