"""Start and stop evaluations, and the scores of a workflow over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.principals import get_key_id
from accounts.tenancy import tenant
from workflows import permissions
from workflows.errors import InvalidValue
from workflows.execution.called_runs import check_not_called
from workflows.execution.evaluation.summary import summarize
from workflows.llm.config import OFFLINE, normalize_name
from workflows.models import (
    DataCase,
    DataSet,
    Evaluation,
    EvaluationResult,
    ModelProvider,
    Snapshot,
    Version,
    Workflow,
)
from workflows.models.reports.data_sets import CaseStatus, EvaluationStatus, Scorer
from workflows.services import audit_lines
from workflows.services.data_sets.data_sets import check_change
from workflows.services.editor.snapshots import take_snapshot
from workflows.services.runs.runs import check_startable
from workflows.tasks import wake_workers_for_evaluation


DRAFT: Final = "draft"
MAX_CRITERIA: Final = 2_000


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """This says what to evaluate: one version or two; None stands for the draft. The judge's fields are for that scorer."""

    versions: Sequence[Version | None] = (None,)
    scorer: str = Scorer.EXACT.value
    output: str = ""
    provider: str = ""
    model: str = ""
    criteria: str = ""
    offline: bool = False


def start_evaluation(
    principal: Principal, data_set: DataSet, workflow: Workflow, request: EvaluationRequest
) -> Evaluation:
    """Queue all cases of a data set against one version of a workflow or two."""
    check_change(principal, data_set)
    permissions.check_view(principal, workflow)
    check_startable(principal, workflow)
    if None in request.versions:
        permissions.check_start_draft(principal, workflow)
    if workflow.team_id != data_set.team_id:
        raise InvalidValue(_("The workflow belongs to another team."), field="workflow")
    with tenant([data_set.team_id]):
        cases = list(DataCase.objects.unscoped().filter(data_set=data_set).order_by("rank", "id"))
        if not cases:
            raise InvalidValue(_("The dataset has no cases."), field="data_set")
        results = queue_evaluation(principal, data_set, workflow, request, cases)
        evaluation = results[0].evaluation
        audit_lines.record(
            principal,
            data_set,
            "data_set.evaluated",
            evaluation=str(evaluation.pk),
            count=len(results),
        )
    return evaluation


def queue_evaluation(
    principal: Principal,
    data_set: DataSet,
    workflow: Workflow,
    request: EvaluationRequest,
    cases: Sequence[DataCase],
) -> list[EvaluationResult]:
    """Create an evaluation of these cases, and return their unfinished results. The caller has checked permissions.

    Raises InvalidValue for a request that can't be met, and CallNotAllowed for a call of this installation by a run.
    """
    check_not_called()
    _check_request(request)
    judge = _choose_judge(data_set.team_id, request) if request.scorer == Scorer.JUDGE else {}
    with tenant([data_set.team_id]):
        first, *rest = [_take(workflow, version) for version in request.versions]
        other = rest[0] if rest else ("", None)
        evaluation = Evaluation.objects.create(
            team_id=data_set.team_id,
            data_set=data_set,
            workflow=workflow,
            label=first[0],
            snapshot=first[1],
            other_label=other[0],
            other_snapshot=other[1],
            scorer=request.scorer,
            output=request.output.strip()[:255],
            judge=judge,
            offline=request.offline,
            is_partial=len(cases) < DataCase.objects.unscoped().filter(data_set=data_set).count(),
            created_by_id=principal.user_id,
            api_key_id=get_key_id(principal),
        )
        results = EvaluationResult.objects.bulk_create(
            EvaluationResult(
                team_id=data_set.team_id,
                evaluation=evaluation,
                case=case,
                spec=case.spec,
                side=side,
            )
            for case in cases
            for side in range(len(request.versions))
        )
        evaluation.summary = summarize(results)
        evaluation.save(update_fields=["summary"])
        transaction.on_commit(lambda: wake_workers_for_evaluation(data_set.team_id, evaluation.pk))
    return results


def stop_evaluation(principal: Principal, evaluation: Evaluation) -> Evaluation:
    """Stop an evaluation: cases that run now end, the others don't begin. A finished one stays as it is."""
    check_change(principal, evaluation.data_set)
    with tenant([evaluation.team_id]):
        locked = Evaluation.objects.unscoped().select_for_update().get(pk=evaluation.pk)
        if not locked.is_running:
            return locked
        rows = EvaluationResult.objects.unscoped().filter(evaluation=locked)
        rows.exclude(status=CaseStatus.DONE).update(status=CaseStatus.STOPPED, lease_until=None)
        locked.status, locked.finished_at = EvaluationStatus.STOPPED, timezone.now()
        locked.summary = summarize(rows.all())
        locked.save(update_fields=["status", "finished_at", "summary", "updated_at"])
        detail = {"evaluation": str(locked.pk)}
        audit_lines.record(principal, evaluation.data_set, "data_set.evaluation_stopped", **detail)
    return locked


def list_judges(team_id: UUID) -> list[str]:
    """Return the names of the providers that can judge: all that are connected, but not the offline one."""
    with tenant([team_id]):
        rows = ModelProvider.objects.unscoped().filter(team_id=team_id, enabled=True)
        names = list(rows.order_by("name", "id").values_list("name", flat=True))
    return [name for name in names if normalize_name(name) != OFFLINE]


def _check_request(request: EvaluationRequest) -> None:
    if request.scorer not in Scorer.values:
        raise InvalidValue(_("Choose how answers are scored."), field="scorer")
    if not 1 <= len(request.versions) <= 2:
        raise InvalidValue(_("Choose one version, or two to compare."), field="versions")
    if len(set(request.versions)) < len(request.versions):  # rows are equal by their ids
        raise InvalidValue(_("Choose two different versions."), field="versions")


def _choose_judge(team_id: UUID, request: EvaluationRequest) -> dict[str, str]:
    """Return the judge. Raises InvalidValue if only the offline model is there, which can't judge."""
    names = list_judges(team_id)
    if request.offline or not names:
        message = _(
            "Only the offline model is connected, and it can't judge answers. Connect a model first."
        )
        raise InvalidValue(message, field="scorer")
    provider = request.provider.strip() or names[0]
    if provider not in names:
        raise InvalidValue(_("This model provider isn't connected."), field="provider")
    return {
        "provider": provider,
        "model": request.model.strip()[:255],
        "criteria": request.criteria.strip()[:MAX_CRITERIA],
    }


def _take(workflow: Workflow, version: Version | None) -> tuple[str, Snapshot]:
    """Return the label and the snapshot of a version, or of the draft as it is now."""
    if version is None:
        return DRAFT, take_snapshot(workflow)
    return str(version.number), version.snapshot


def list_results(evaluation: Evaluation) -> list[EvaluationResult]:
    """Return the results in the order of the cases. The caller has found the evaluation and may therefore see them."""
    with tenant([evaluation.team_id]):
        rows = EvaluationResult.objects.unscoped().filter(evaluation=evaluation)
        return list(rows.select_related("case").order_by("case__rank", "case_id", "side"))
