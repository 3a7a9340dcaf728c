"""Rows and objects of test cases, and of comparing runs."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _result(person: Person, canary: str) -> Any:
    """A case and a result are found only beside their own workflow: the three are made as one."""
    from accounts.tenancy import tenant
    from tests.factories.workflows import make_workflow
    from workflows.models import EvaluationResult
    from workflows.services.debugging.cases import run_cases, save_case

    with tenant([person.team.pk]):
        found = EvaluationResult.objects.unscoped().filter(
            case__name=canary, evaluation__label="draft", team_id=person.team.pk
        )
        found = found.filter(case__data_set__workflow__isnull=False)
        if known := found.select_related("case__data_set").first():
            return known
    workflow = make_workflow(person, canary)
    spec = {"name": canary, "inputs": {"text": canary}}
    case = save_case(person.principal, workflow=workflow, spec=spec)
    (result,) = run_cases(person.principal, workflow=workflow, cases=[case])
    with tenant([workflow.team_id]):
        EvaluationResult.objects.unscoped().filter(pk=result.pk).update(problem=canary)
    return result


def _workflow(person: Person, canary: str) -> Any:
    return _result(person, canary).case.data_set.workflow_id


OBJECTS: dict[str, Maker] = {
    "workflow with a case": _workflow,
    "case": lambda person, canary: _result(person, canary).case_id,
    "case result": lambda person, canary: _result(person, canary).pk,
}

WORKFLOW = {"workflow_id": "workflow with a case"}
CASE = {**WORKFLOW, "case_id": "case"}
RESULT = {**WORKFLOW, "result_id": "case result"}
TWO_RUNS = {"run_id": "run", "other_id": "run"}
TWO_RUNS_FOR_ADA = {"run_id": "run for ada", "other_id": "run for ada"}
WRITTEN = {"case": {"name": "mine", "inputs": {"text": "hi"}}}
TYPED = {"name": "mine", "turn-0-person": "", "turn-0-inputs": '{"text": "hi"}'}

API = "api/v1/workflows/<uuid:workflow_id>/tests"
PAGE = "workflows/<uuid:workflow_id>/tests/"

ROWS = [
    Row("GET", API, "- 404 200 200 200 404", WORKFLOW),
    Row("POST", API, "- 404 403 201 201 404", WORKFLOW, WRITTEN),
    Row("PUT", f"{API}/<uuid:case_id>", "- 404 403 200 200 404", CASE, WRITTEN),
    Row("DELETE", f"{API}/<uuid:case_id>", "- 404 403 204 204 404", CASE),
    Row("POST", f"{API}/run", "- 404 403 202 202 404", WORKFLOW, {}),
    Row("GET", f"{API}/results/<uuid:result_id>", "- 404 200 200 200 404", RESULT),
    Row("GET", "api/v1/runs/<uuid:run_id>/case", "- 404 404 404 404 404", {"run_id": "run"}),
    Row(
        "GET",
        "api/v1/runs/<uuid:run_id>/compare/<uuid:other_id>",
        "- 404 404 404 404 404",
        TWO_RUNS,
    ),
    Row("GET", PAGE, "- 404 200 200 200 -", WORKFLOW),
    Row("POST", f"{PAGE}run/", "- 404 403 200 200 -", WORKFLOW, {}),
    Row("POST", f"{PAGE}publish-gate/", "- 404 403 200 200 -", WORKFLOW, {}),
    Row("GET", "workflows/<uuid:workflow_id>/scores/", "- 404 200 200 200 -", WORKFLOW),
    Row(
        "GET", "api/v1/workflows/<uuid:workflow_id>/evaluations", "- 404 200 200 200 404", WORKFLOW
    ),
    Row(
        "PUT",
        "api/v1/workflows/<uuid:workflow_id>/publish-gate",
        "- 404 403 200 200 404",
        WORKFLOW,
        {},
    ),
    Row("GET", f"{PAGE}new/", "- 404 403 200 200 -", WORKFLOW),
    Row("POST", f"{PAGE}new/", "- 404 403 200 200 -", WORKFLOW, TYPED),
    Row("GET", f"{PAGE}<uuid:case_id>/", "- 404 403 200 200 -", CASE),
    Row("POST", f"{PAGE}<uuid:case_id>/", "- 404 403 200 200 -", CASE, TYPED),
    Row("POST", f"{PAGE}<uuid:case_id>/delete/", "- 404 403 200 200 -", CASE, {}),
    Row("GET", f"{PAGE}results/<uuid:result_id>/", "- 404 200 200 200 -", RESULT),
    Row("GET", "runs/<uuid:run_id>/compare/<uuid:other_id>/", "- 404 404 404 404 -", TWO_RUNS),
    Row(
        "GET",
        "runs/<uuid:run_id>/compare/<uuid:other_id>/",
        "- 404 404 404 200 -",
        TWO_RUNS_FOR_ADA,
    ),
]
