"""``/api/v1/tasks``: write a task down, have it done, read what came of it."""

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Status

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_current_team_id, get_principal
from config.http.openapi import Limit, Offset
from workflows import memory_app, selectors
from workflows.models import Task
from workflows.schemas.runs import TaskIn, TaskOut, TaskPageOut
from workflows.services import tasks


router = Router(auth=api_auth(), tags=["tasks"])


@router.post("/tasks", response={201: TaskOut}, summary="Create a task")
def create_task(request: HttpRequest, body: TaskIn) -> Status[dict[str, object]]:
    principal = get_principal(request)
    named = body.workflow
    task = tasks.create_task(
        principal,
        team_id=get_current_team_id(request),
        title=body.title,
        description=body.description,
        workflow=selectors.workflow_for(principal, named, "run") if named else None,
        subject=body.user,
    )
    return Status(201, _told(principal, [task])[0])


@router.get("/tasks", response=TaskPageOut, summary="List tasks")
def list_tasks(request: HttpRequest, offset: Offset = 0, limit: Limit = 50) -> dict[str, object]:
    """Yours, newest first."""
    principal = get_principal(request)
    found = selectors.tasks_for(principal, team_id=get_current_team_id(request))
    rows = list(found[offset : offset + limit])
    return {"items": _told(principal, rows), "count": found.count()}


@router.get("/tasks/{uuid:task_id}", response=TaskOut, summary="Get a task")
def read_task(request: HttpRequest, task_id: UUID) -> dict[str, object]:
    """With its run's outcome, and what was learnt from it."""
    principal = get_principal(request)
    return _told(principal, [selectors.task_for(principal, task_id)])[0]


@router.post("/tasks/{uuid:task_id}/execute", response={202: TaskOut}, summary="Run a task")
def execute_task(request: HttpRequest, task_id: UUID) -> Status[dict[str, object]]:
    """Starts a run; while one is under way, that one is the answer."""
    principal = get_principal(request)
    task = tasks.execute_task(principal, task=selectors.task_for(principal, task_id))
    return Status(202, _told(principal, [task])[0])


def _told(principal: Principal, rows: Sequence[Task]) -> list[dict[str, object]]:
    learnt = _learnt(principal, rows)
    return [_out(row, learnt.get(str(row.run_id))) for row in rows]


def _out(task: Task, learnt: dict[str, object] | None) -> dict[str, object]:
    run = task.run
    return {
        "id": task.pk,
        "title": task.title,
        "description": task.description,
        "status": run.status if run else "created",
        "workflow": run.workflow_id if run else task.workflow_id,
        "run": run.pk if run else None,
        "user": task.subject,
        "outputs": run.outputs if run else None,
        "error": run.error if run else "",
        "learnt": learnt,
        "created_at": task.created_at,
    }


def _learnt(principal: Principal, rows: Sequence[Task]) -> dict[str, dict[str, object]]:
    """By run; all rows are of one team, or there is one."""
    runs = [str(row.run_id) for row in rows if row.run_id]
    if not runs or not memory_app.is_on():
        return {}
    caller = memory_app.MemoryCaller(principal, rows[0].team_id)
    return {
        run_id: {"status": one.status, "problem": one.problem, "counts": one.counts}
        for run_id, one in memory_app.curations_of(caller, run_ids=runs).items()
    }
