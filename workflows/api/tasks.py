"""Routes of ``/api/v1/tasks``: create tasks, run them and read their results."""

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
    """Create a task in your current team, for yourself or for the ``user``."""
    principal = get_principal(request)
    workflow_id = body.workflow
    task = tasks.create_task(
        principal,
        team_id=get_current_team_id(request),
        title=body.title,
        description=body.description,
        workflow=selectors.find_workflow(principal, workflow_id, "run") if workflow_id else None,
        subject=body.user,
    )
    return Status(201, _build_tasks(principal, [task])[0])


@router.get("/tasks", response=TaskPageOut, summary="List tasks")
def list_tasks(request: HttpRequest, offset: Offset = 0, limit: Limit = 50) -> dict[str, object]:
    """Return your tasks, newest first."""
    principal = get_principal(request)
    tasks_of_team = selectors.list_tasks(principal, team_id=get_current_team_id(request))
    rows = list(tasks_of_team[offset : offset + limit])
    return {"items": _build_tasks(principal, rows), "count": tasks_of_team.count()}


@router.get("/tasks/{uuid:task_id}", response=TaskOut, summary="Get a task")
def read_task(request: HttpRequest, task_id: UUID) -> dict[str, object]:
    """Return a task with its run's result and what was learned from it."""
    principal = get_principal(request)
    return _build_tasks(principal, [selectors.find_task(principal, task_id)])[0]


@router.post("/tasks/{uuid:task_id}/execute", response={202: TaskOut}, summary="Run a task")
def execute_task(request: HttpRequest, task_id: UUID) -> Status[dict[str, object]]:
    """Start a run of the task. If one is still running, that run is returned."""
    principal = get_principal(request)
    task = tasks.execute_task(principal, task=selectors.find_task(principal, task_id))
    return Status(202, _build_tasks(principal, [task])[0])


def _build_tasks(principal: Principal, rows: Sequence[Task]) -> list[dict[str, object]]:
    curations = _load_curations(principal, rows)
    return [_build_task(row, curations.get(str(row.run_id))) for row in rows]


def _build_task(task: Task, curation: dict[str, object] | None) -> dict[str, object]:
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
        "learnt": curation,
        "created_at": task.created_at,
    }


def _load_curations(principal: Principal, rows: Sequence[Task]) -> dict[str, dict[str, object]]:
    """Return the state of each run's curation. All rows must belong to one team."""
    runs = [str(row.run_id) for row in rows if row.run_id]
    if not runs or not memory_app.is_on():
        return {}
    caller = memory_app.MemoryCaller(principal, rows[0].team_id)
    return {
        run_id: {"status": curation.status, "problem": curation.problem, "counts": curation.counts}
        for run_id, curation in memory_app.find_curations(caller, run_ids=runs).items()
    }
