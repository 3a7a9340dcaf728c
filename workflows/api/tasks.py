"""Routes of ``/api/v1/tasks``: create tasks, run them and read their results."""

from collections.abc import Sequence
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import Principal, get_current_team_id, get_principal
from config.http.pages import Listing, Pages, list_rows
from workflows import memory_app, selectors
from workflows.errors import NotPublished
from workflows.idempotent_requests import accept_idempotency_key
from workflows.models import Task
from workflows.schemas.runs import TaskIn, TaskOut
from workflows.services import tasks


router = Router(auth=api_auth(), tags=["tasks"])


@router.post("/tasks", response={201: TaskOut}, summary="Create a task")
@accept_idempotency_key
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
    return Status(201, _serialize_tasks(principal, [task])[0])


@router.get("/tasks", response=list[TaskOut], summary="List tasks")
@paginate(Pages)
def list_tasks(request: HttpRequest) -> Listing[Task]:
    """Return your tasks, newest first."""
    principal = get_principal(request)
    team_tasks = selectors.list_tasks(principal, team_id=get_current_team_id(request))
    return list_rows(team_tasks, lambda rows: _serialize_tasks(principal, rows))


@router.get("/tasks/{uuid:task_id}", response=TaskOut, summary="Get a task")
def read_task(request: HttpRequest, task_id: UUID) -> dict[str, object]:
    """Return a task with its run's result and what was learned from it."""
    principal = get_principal(request)
    return _serialize_tasks(principal, [selectors.find_task(principal, task_id)])[0]


@router.post("/tasks/{uuid:task_id}/execute", response={202: TaskOut}, summary="Run a task")
@accept_idempotency_key
def execute_task(request: HttpRequest, task_id: UUID) -> Status[dict[str, object]]:
    """Start a run of the task. If one is still running, that run is returned.

    Fails with NotPublished if the workflow of the task has no published version.
    """
    principal = get_principal(request)
    task = selectors.find_task(principal, task_id)
    if task.workflow is not None and task.workflow.published_version_id is None:
        raise NotPublished
    task = tasks.execute_task(principal, task=task)
    return Status(202, _serialize_tasks(principal, [task])[0])


def _serialize_tasks(principal: Principal, listed_tasks: Sequence[Task]) -> list[dict[str, object]]:
    curations = _load_curations(principal, listed_tasks)
    return [_serialize_task(task, curations.get(str(task.run_id))) for task in listed_tasks]


def _serialize_task(task: Task, curation: dict[str, object] | None) -> dict[str, object]:
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


def _load_curations(
    principal: Principal, listed_tasks: Sequence[Task]
) -> dict[str, dict[str, object]]:
    """Return the state of each run's curation by the run's id. All tasks must belong to one team."""
    run_ids = [str(task.run_id) for task in listed_tasks if task.run_id]
    if not run_ids or not memory_app.is_on():
        return {}
    caller = memory_app.MemoryCaller(principal, listed_tasks[0].team_id)
    return {
        run_id: {"status": curation.status, "problem": curation.problem, "counts": curation.counts}
        for run_id, curation in memory_app.find_curations(caller, run_ids=run_ids).items()
    }
