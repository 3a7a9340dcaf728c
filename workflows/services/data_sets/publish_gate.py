"""A workflow can be told to be published only if all cases of a data set pass with what is to be published."""

from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.tenancy import reading, tenant
from workflows import permissions
from workflows.errors import CasesNotPassed, InvalidValue
from workflows.models import DataCase, DataSet, EvaluationResult, Snapshot, Workflow
from workflows.services import audit_lines


@dataclass(frozen=True, slots=True)
class GateState:
    """The cases that keep a document from being published, by name: those that failed, and those without a result."""

    failed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        return not self.failed and not self.missing


def change_gate(principal: Principal, *, workflow: Workflow, data_set: DataSet | None) -> None:
    """Let the workflow be published only if the cases of the data set pass; None lets it be published in any case."""
    permissions.check_publish(principal, workflow)
    if data_set is not None and not _may_gate(workflow, data_set):
        raise InvalidValue(
            _("Choose a dataset of the team, or the workflow's own tests."), field="data_set"
        )
    with tenant([workflow.team_id]):
        Workflow.objects.unscoped().filter(pk=workflow.pk).update(must_pass=data_set)
        workflow.must_pass = data_set
        detail = {"data_set": str(data_set.pk)} if data_set else {}
        audit_lines.record(principal, workflow, "workflow.gate_changed", **detail)


def check_gate(workflow: Workflow, snapshot: Snapshot) -> None:
    """Raise CasesNotPassed, which names the cases, unless each case of the workflow's set has passed with the document."""
    state = find_gate_state(workflow, snapshot)
    if not state.is_open:
        assert workflow.must_pass is not None  # noqa: S101  # otherwise the gate is open
        raise CasesNotPassed(workflow.must_pass.title, state.failed, state.missing)


def find_gate_state(workflow: Workflow, snapshot: Snapshot) -> GateState:
    """Return the cases that have not passed. A result counts if the case has not been changed since.

    Results with the offline model don't count, because published versions don't ask it.
    """
    if workflow.must_pass_id is None:
        return GateState()
    with reading([workflow.team_id]):
        cases = list(
            DataCase.objects.unscoped()
            .filter(data_set_id=workflow.must_pass_id)
            .order_by("rank", "id")
        )
        is_of_snapshot = Q(side=0, evaluation__snapshot=snapshot) | Q(
            side=1, evaluation__other_snapshot=snapshot
        )
        rows = EvaluationResult.objects.unscoped().filter(
            is_of_snapshot,
            case__in=cases,
            evaluation__workflow=workflow,
            evaluation__offline=False,
        )
        newest = {row.case_id: row for row in rows.order_by("case_id", "-id").distinct("case_id")}
    failed: list[str] = []
    missing: list[str] = []
    for case in cases:
        row = newest.get(case.pk)
        if row is None or row.is_open or row.spec != case.spec:
            missing.append(case.name)
        elif not row.has_passed:
            failed.append(case.name)
    return GateState(tuple(failed), tuple(missing))


def _may_gate(workflow: Workflow, data_set: DataSet) -> bool:
    if data_set.team_id != workflow.team_id:
        return False
    return data_set.workflow_id in (None, workflow.pk)
