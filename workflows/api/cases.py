"""``/api/v1/workflows/{id}/tests``: saved test cases and their results."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from ninja import Router, Status

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_principal
from accounts.tenancy import tenant
from workflows import selectors, sse
from workflows.models import TestCase, TestResult
from workflows.schemas import cases as schemas
from workflows.services.debugging import cases


router = Router(auth=api_auth(), tags=["test cases"])

LOOK_EVERY = 0.2  # seconds, for who waits


@router.get("/workflows/{uuid:workflow_id}/tests", response=list[schemas.CaseOut], summary="List")
def list_cases(request: HttpRequest, workflow_id: UUID) -> list[dict[str, object]]:
    """Every case with what came of it last, in the workflow's order."""
    found = list(selectors.cases_for(get_principal(request), workflow_id))
    newest = cases.find_newest_results(found)
    return [_case(case, newest.get(case.pk)) for case in found]


@router.post(
    "/workflows/{uuid:workflow_id}/tests",
    response={201: schemas.CaseOut},
    summary="Create a test case",
)
def create_case(
    request: HttpRequest, workflow_id: UUID, body: schemas.CaseIn
) -> Status[dict[str, object]]:
    principal = get_principal(request)
    workflow = selectors.workflow_for(principal, workflow_id, "edit")
    return Status(201, _case(cases.save_case(principal, workflow=workflow, spec=body.case)))


@router.put(
    "/workflows/{uuid:workflow_id}/tests/{uuid:case_id}",
    response=schemas.CaseOut,
    summary="Update a test case",
)
def change_case(
    request: HttpRequest, workflow_id: UUID, case_id: UUID, body: schemas.CaseIn
) -> dict[str, object]:
    principal = get_principal(request)
    case = selectors.case_for(principal, workflow_id, case_id, "edit")
    return _case(
        cases.save_case(principal, workflow=case.workflow, spec=body.case, case=case),
        cases.find_newest_results([case]).get(case.pk),
    )


@router.delete(
    "/workflows/{uuid:workflow_id}/tests/{uuid:case_id}",
    response={204: None},
    summary="Delete a test case",
)
def delete_case(request: HttpRequest, workflow_id: UUID, case_id: UUID) -> Status[None]:
    principal = get_principal(request)
    case = selectors.case_for(principal, workflow_id, case_id, "edit")
    cases.delete_case(principal, workflow=case.workflow, case=case)
    return Status(204, None)


@router.post(
    "/workflows/{uuid:workflow_id}/tests/run",
    response={202: list[schemas.ResultOut]},
    summary="Run test cases against the draft",
)
async def run_cases(
    request: HttpRequest, workflow_id: UUID, body: schemas.RunCasesIn
) -> Status[list[dict[str, object]]]:
    """All of them, or those named. With ``wait_seconds`` the answer comes when they are done, or the time is up."""
    # Not in the request's transaction: no worker hears of a case before what queued it is committed.
    principal = get_principal(request)
    made = await sync_to_async(_queue)(principal, workflow_id, body)
    if body.wait_seconds:
        made = await _waited_for(principal, [result.pk for result in made], body.wait_seconds)
    return Status(202, [_result(result) for result in made])


@router.get(
    "/workflows/{uuid:workflow_id}/tests/results/{uuid:result_id}",
    response=schemas.ResultOut,
    summary="Get a test result",
)
def read_result(request: HttpRequest, workflow_id: UUID, result_id: UUID) -> dict[str, object]:
    return _result(selectors.case_result_for(get_principal(request), workflow_id, result_id))


@router.get(
    "/runs/{uuid:run_id}/case", response=schemas.CaseIn, summary="Create a test case from a run"
)
def case_of_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """What went in, and that the same comes out; to be saved by a POST, changed or not."""
    run = selectors.run_for(get_principal(request), run_id)
    return {"case": cases.dump_case(cases.build_case_from_run(run))}


def _queue(principal: Principal, workflow_id: UUID, body: schemas.RunCasesIn) -> list[TestResult]:
    with sse.connections_given_back(), tenant(principal.team_ids):
        workflow = selectors.workflow_for(principal, workflow_id, "edit")
        chosen = selectors.cases_for(principal, workflow_id)
        if body.cases is not None:
            chosen = chosen.filter(pk__in=body.cases)
        return cases.run_cases(
            principal, workflow=workflow, cases=list(chosen), offline=body.offline
        )


async def _waited_for(
    principal: Principal, keys: Sequence[UUID], seconds: float
) -> list[TestResult]:
    """As they are when the last is done, or the time is up; nothing is held in between."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while True:
        found = await sync_to_async(_results)(principal, keys)
        left = until - loop.time()
        if left <= 0 or not any(result.is_open for result in found):
            return found
        await asyncio.sleep(min(LOOK_EVERY, left))


def _results(principal: Principal, keys: Sequence[UUID]) -> list[TestResult]:
    with sse.connections_given_back(), tenant(principal.team_ids):
        return list(selectors.case_results_for(principal, list(keys)))


def _case(case: TestCase, newest: TestResult | None = None) -> dict[str, object]:
    return {
        "id": case.pk,
        "name": case.name,
        "case": case.spec,
        "updated_at": case.updated_at,
        "last": _result(newest) if newest else None,
    }


def _result(result: TestResult) -> dict[str, object]:
    return {
        "id": result.pk,
        "case_id": result.case_id,
        "status": "lost" if result.is_lost else result.status,
        "queued_at": result.queued_at,
        "finished_at": result.finished_at,
        "elapsed": result.elapsed,
        "detail": result.detail,
    }
