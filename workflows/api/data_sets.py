"""Routes of ``/api/v1/data-sets`` and ``/api/v1/evaluations``."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from config.http.pages import Pages
from workflows import selectors
from workflows.engine.testing.cases import Case, read_case
from workflows.idempotent_requests import accept_idempotency_key
from workflows.models import DataCase, DataSet, Evaluation, Workflow
from workflows.schemas import data_sets as schemas
from workflows.services.data_sets import cases, data_sets, evaluations, files, publish_gate


router = Router(auth=api_auth(), tags=["data sets"])


@router.get("/data-sets", response=list[schemas.DataSetOut], summary="List data sets")
@paginate(Pages)
def list_data_sets(request: HttpRequest) -> QuerySet[DataSet]:
    """Return the team's data sets by name."""
    return selectors.list_data_sets(get_principal(request))


@router.post("/data-sets", response={201: schemas.DataSetOut}, summary="Create a data set")
def create_data_set(request: HttpRequest, body: schemas.DataSetIn) -> Status[DataSet]:
    """Create a data set. Fails with NameTaken."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    data_set = data_sets.save_data_set(
        principal, team_id=team_id, name=body.name, description=body.description
    )
    return Status(201, selectors.find_data_set(principal, data_set.pk))


@router.put(
    "/data-sets/{uuid:data_set_id}", response=schemas.DataSetOut, summary="Change a data set"
)
def change_data_set(request: HttpRequest, data_set_id: UUID, body: schemas.DataSetIn) -> DataSet:
    """Change name and description. Fails with NameTaken."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    return data_sets.save_data_set(
        principal,
        team_id=data_set.team_id,
        name=body.name,
        description=body.description,
        data_set=data_set,
    )


@router.delete("/data-sets/{uuid:data_set_id}", response={204: None}, summary="Delete a data set")
def delete_data_set(request: HttpRequest, data_set_id: UUID) -> Status[None]:
    """Delete a data set with its cases and evaluations."""
    principal = get_principal(request)
    data_sets.delete_data_set(principal, selectors.find_data_set(principal, data_set_id, "edit"))
    return Status(204, None)


@router.get(
    "/data-sets/{uuid:data_set_id}/cases", response=list[schemas.DataCaseOut], summary="List cases"
)
@paginate(Pages)
def list_data_cases(request: HttpRequest, data_set_id: UUID) -> QuerySet[DataCase]:
    """Return the cases in their order."""
    principal = get_principal(request)
    return selectors.list_data_cases(principal, selectors.find_data_set(principal, data_set_id))


@router.get("/data-sets/{uuid:data_set_id}/export", response={200: None}, summary="Export cases")
def export_cases(request: HttpRequest, data_set_id: UUID) -> HttpResponse:
    """Return the cases as JSON Lines, which can be imported again."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id)
    cases = selectors.list_data_cases(principal, data_set)
    text = files.export_cases(principal, data_set, cases)
    return HttpResponse(text, content_type="application/jsonl; charset=utf-8")


@router.post(
    "/data-sets/{uuid:data_set_id}/cases",
    response={201: list[schemas.DataCaseOut]},
    summary="Add cases",
)
def add_cases(
    request: HttpRequest, data_set_id: UUID, body: schemas.CasesIn
) -> Status[list[DataCase]]:
    """Add cases at the end: all of them, or none if one is invalid."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    return Status(201, cases.add_cases(principal, data_set, [*map(_read_case, body.cases)]))


@router.post(
    "/data-sets/{uuid:data_set_id}/import",
    response={201: list[schemas.DataCaseOut]},
    summary="Import cases",
)
def import_cases(
    request: HttpRequest, data_set_id: UUID, body: schemas.ImportIn
) -> Status[list[DataCase]]:
    """Add the cases of a CSV or JSON Lines file: all of them, or none if a row is invalid."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    read_cases = files.read_cases(body.text, body.format)
    return Status(201, cases.add_cases(principal, data_set, read_cases))


@router.post(
    "/data-sets/{uuid:data_set_id}/runs",
    response={201: schemas.DataCaseOut},
    summary="Add a run as a case",
)
def add_run(request: HttpRequest, data_set_id: UUID, body: schemas.RunCaseIn) -> Status[DataCase]:
    """Add a case with the inputs of a run, which expects its output. The team can see it from then on."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    run = selectors.find_run(principal, body.run)
    return Status(201, cases.add_run(principal, data_set, run))


@router.put(
    "/data-sets/{uuid:data_set_id}/cases/{uuid:case_id}",
    response=schemas.DataCaseOut,
    summary="Change a case",
)
def change_data_case(
    request: HttpRequest, data_set_id: UUID, case_id: UUID, body: schemas.DataCaseIn
) -> DataCase:
    """Replace a case."""
    principal = get_principal(request)
    case = selectors.find_data_case(principal, data_set_id, case_id)
    return cases.save_case(
        principal, case.data_set, _read_case(body), case, is_named=body.case is not None
    )


@router.delete(
    "/data-sets/{uuid:data_set_id}/cases/{uuid:case_id}",
    response={204: None},
    summary="Delete a case",
)
def delete_data_case(request: HttpRequest, data_set_id: UUID, case_id: UUID) -> Status[None]:
    """Delete a case with its results."""
    principal = get_principal(request)
    cases.delete_case(principal, selectors.find_data_case(principal, data_set_id, case_id))
    return Status(204, None)


@router.get(
    "/data-sets/{uuid:data_set_id}/evaluations",
    response=list[schemas.EvaluationOut],
    summary="List evaluations",
)
@paginate(Pages)
def list_evaluations(request: HttpRequest, data_set_id: UUID) -> "QuerySet[Evaluation]":
    """Return the evaluations with a data set, newest first."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id)
    return selectors.list_evaluations(principal, data_set)


@router.get(
    "/workflows/{uuid:workflow_id}/evaluations",
    response=list[schemas.EvaluationOut],
    summary="List evaluations of a workflow",
)
@paginate(Pages)
def list_evaluations_of_workflow(request: HttpRequest, workflow_id: UUID) -> "QuerySet[Evaluation]":
    """Return the evaluations of a workflow with any data set and with its own tests, newest first."""
    principal = get_principal(request)
    workflow = selectors.find_workflow(principal, workflow_id)
    return selectors.list_evaluations_of_workflow(principal, workflow)


@router.put(
    "/workflows/{uuid:workflow_id}/publish-gate",
    response=schemas.GateOut,
    summary="Publish only if cases pass",
)
def change_gate(request: HttpRequest, workflow_id: UUID, body: schemas.GateIn) -> Workflow:
    """Let the workflow be published only if all cases of a data set, or of its own tests, pass; null lifts that."""
    principal = get_principal(request)
    workflow = selectors.find_workflow(principal, workflow_id, "publish")
    data_set = selectors.find_data_set(principal, body.data_set) if body.data_set else None
    if body.tests:
        data_set = data_sets.load_tests(workflow)
    publish_gate.change_gate(principal, workflow=workflow, data_set=data_set)
    return workflow


@router.post(
    "/data-sets/{uuid:data_set_id}/evaluations",
    response={202: schemas.EvaluationOut},
    summary="Start an evaluation",
)
@accept_idempotency_key
def start_evaluation(
    request: HttpRequest, data_set_id: UUID, body: schemas.EvaluationIn
) -> Status[Evaluation]:
    """Run all cases against one version of a workflow, or two side by side, and score the answers."""
    principal = get_principal(request)
    data_set = selectors.find_data_set(principal, data_set_id, "edit")
    workflow = selectors.find_workflow(principal, body.workflow, "run")
    evaluation = evaluations.start_evaluation(
        principal,
        data_set,
        workflow,
        evaluations.EvaluationRequest(
            versions=selectors.find_versions(principal, workflow, body.versions),
            scorer=body.scorer,
            output=body.output,
            provider=body.provider,
            model=body.model,
            criteria=body.criteria,
            offline=body.offline,
        ),
    )
    return Status(202, evaluation)


@router.get(
    "/evaluations/{uuid:evaluation_id}",
    response=schemas.EvaluationDetailOut,
    summary="Get an evaluation with its results",
)
def read_evaluation(
    request: HttpRequest, evaluation_id: UUID
) -> dict[str, Any]:  # Any: the schema's
    """Return an evaluation with the result of each case."""
    evaluation = selectors.find_evaluation(get_principal(request), evaluation_id)
    return {
        **{name: getattr(evaluation, name) for name in _FIELDS},
        "results": evaluations.list_results(evaluation),
    }


def _read_case(body: schemas.DataCaseIn) -> Case:
    """Return the case. Raises InvalidValue or DocumentInvalid with the fields."""
    if body.case is not None:
        return read_case(body.case)
    return cases.make_case(body.query, body.inputs, body.expected)


_FIELDS = (
    *("id", "data_set_id", "workflow_id", "label", "other_label", "scorer", "output", "offline"),
    *("status", "summary", "created_at", "finished_at"),
)


@router.post(
    "/evaluations/{uuid:evaluation_id}/cancel",
    response=schemas.EvaluationOut,
    summary="Stop an evaluation",
)
def stop_evaluation(request: HttpRequest, evaluation_id: UUID) -> Evaluation:
    """Stop an evaluation: cases that run now end, the others don't begin."""
    principal = get_principal(request)
    evaluation = selectors.find_evaluation(principal, evaluation_id, "edit")
    return evaluations.stop_evaluation(principal, evaluation)
