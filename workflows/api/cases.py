"""Routes of ``/api/v1/workflows/{id}/tests``: saved test cases and their results."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.http.middleware import opens_own_tenant
from accounts.principals import Principal, get_principal
from accounts.tenancy import tenant
from config.http.page_threads import await_in_loop, run_in_turn
from config.http.pages import Listing, Pages, list_rows
from workflows import selectors, sse
from workflows.api.request_context import find_workflow
from workflows.idempotent_requests import (
    accept_idempotency_key,
    find_first_answer,
    store_first_answer,
)
from workflows.models import DataCase, EvaluationResult
from workflows.schemas import cases as schemas
from workflows.services.data_sets.cases import delete_case as delete_data_case
from workflows.services.debugging import cases


router = Router(auth=api_auth(), tags=["test cases"])

POLL_INTERVAL = 0.2  # seconds between checks of the results


@router.get(
    "/workflows/{uuid:workflow_id}/tests", response=list[schemas.CaseOut], summary="List test cases"
)
@paginate(Pages)
def list_cases(request: HttpRequest, workflow_id: UUID) -> Listing[DataCase]:
    """Return the workflow's test cases in their order, each with its last result."""
    test_cases = selectors.list_cases(get_principal(request), workflow_id)
    return list_rows(test_cases, _serialize_cases)


@router.post(
    "/workflows/{uuid:workflow_id}/tests",
    response={201: schemas.CaseOut},
    summary="Create a test case",
)
def create_case(
    request: HttpRequest, workflow_id: UUID, body: schemas.CaseIn
) -> Status[dict[str, object]]:
    """Create a test case. Fails with DocumentInvalid with the fields, or NameTaken."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    case = cases.save_case(principal, workflow=workflow, spec=body.case, run_id=body.run)
    return Status(201, _serialize_case(case))


@router.put(
    "/workflows/{uuid:workflow_id}/tests/{uuid:case_id}",
    response=schemas.CaseOut,
    summary="Update a test case",
)
def change_case(
    request: HttpRequest, workflow_id: UUID, case_id: UUID, body: schemas.CaseIn
) -> dict[str, object]:
    """Replace a test case. Fails with DocumentInvalid with the fields, or NameTaken."""
    principal, workflow = find_workflow(request, workflow_id, "edit")
    case = selectors.find_case(principal, workflow_id, case_id, "edit")
    return _serialize_case(
        cases.save_case(principal, workflow=workflow, spec=body.case, case=case, run_id=body.run),
        cases.find_newest_results([case]).get(case.pk),
    )


@router.delete(
    "/workflows/{uuid:workflow_id}/tests/{uuid:case_id}",
    response={204: None},
    summary="Delete a test case",
)
def delete_case(request: HttpRequest, workflow_id: UUID, case_id: UUID) -> Status[None]:
    """Delete a test case and its results."""
    principal = get_principal(request)
    case = selectors.find_case(principal, workflow_id, case_id, "edit")
    delete_data_case(principal, case)
    return Status(204, None)


@router.post(
    "/workflows/{uuid:workflow_id}/tests/run",
    response={202: list[schemas.ResultOut]},
    summary="Run test cases against the draft",
)
@accept_idempotency_key
@opens_own_tenant
def run_cases(
    request: HttpRequest, workflow_id: UUID, body: schemas.RunCasesIn
) -> Status[list[EvaluationResult]] | HttpResponse:
    """Run the listed test cases against the draft, by default all.

    With ``wait_seconds`` the response comes when they have finished or the time is up.
    """
    # A worker can only see a case after the commit.
    principal = get_principal(request)
    results = _queue_cases(request, principal, workflow_id, body)
    if isinstance(results, HttpResponse):
        return results
    if body.wait_seconds:
        result_ids = [result.pk for result in results]
        results = await_in_loop(_wait_for_results, principal, result_ids, body.wait_seconds)
    return Status(202, results)


@router.get(
    "/workflows/{uuid:workflow_id}/tests/results/{uuid:result_id}",
    response=schemas.ResultOut,
    summary="Get a test result",
)
def read_result(request: HttpRequest, workflow_id: UUID, result_id: UUID) -> EvaluationResult:
    """Return a test result; its ``status`` tells whether the test case is still running."""
    return selectors.find_case_result(get_principal(request), workflow_id, result_id)


@router.get(
    "/runs/{uuid:run_id}/case", response=schemas.CaseIn, summary="Create a test case from a run"
)
def create_case_from_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """Return a test case with a run's inputs that expects the same outputs. It isn't saved; send it with a POST."""
    run = selectors.find_run(get_principal(request), run_id)
    return {"case": cases.dump_case(cases.build_case_from_run(run)), "run": run.pk}


def _serialize_cases(test_cases: Sequence[DataCase]) -> list[dict[str, object]]:
    newest_results = cases.find_newest_results(test_cases)
    return [_serialize_case(case, newest_results.get(case.pk)) for case in test_cases]


def _queue_cases(
    request: HttpRequest, principal: Principal, workflow_id: UUID, body: schemas.RunCasesIn
) -> list[EvaluationResult] | HttpResponse:
    """Queue the test cases, or return the first answer to the same request."""
    with sse.close_connections(), tenant(principal.team_ids):
        first_answer = find_first_answer(request)
        if first_answer is not None:
            return first_answer
        workflow = selectors.find_workflow(principal, workflow_id, "edit")
        selected_cases = selectors.list_cases(principal, workflow_id)
        if body.cases is not None:
            selected_cases = selected_cases.filter(pk__in=body.cases)
        results = cases.run_cases(
            principal, workflow=workflow, cases=list(selected_cases), offline=body.offline
        )
        store_first_answer(request, list[schemas.ResultOut], results)
    return results


async def _wait_for_results(
    principal: Principal, result_ids: Sequence[UUID], seconds: float
) -> list[EvaluationResult]:
    """Return the results when all are finished or the time is up; between checks, no database connection is open."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        results = await run_in_turn(_load_results, principal, result_ids)
        remaining = deadline - loop.time()
        if remaining <= 0 or not any(result.is_open for result in results):
            return results
        await asyncio.sleep(min(POLL_INTERVAL, remaining))


def _load_results(principal: Principal, result_ids: Sequence[UUID]) -> list[EvaluationResult]:
    with sse.close_connections(), tenant(principal.team_ids):
        return list(selectors.list_case_results(principal, list(result_ids)))


def _serialize_case(
    case: DataCase, newest_result: EvaluationResult | None = None
) -> dict[str, object]:
    return {
        "id": case.pk,
        "name": case.name,
        "case": case.spec,
        "updated_at": case.updated_at,
        "last": newest_result,
    }
