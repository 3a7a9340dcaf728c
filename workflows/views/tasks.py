"""Pages of tasks: create and run a task, and read its result and the rules learned from it."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.errors import NotAllowed, NotFound
from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.views.pagination import paginate_by_offset
from workflows import memory_app, selectors
from workflows.engine.errors import InputRejected
from workflows.errors import WorkflowArchived
from workflows.forms import TaskForm
from workflows.models import Run, Task
from workflows.services import tasks
from workflows.views.repeated_forms import send_once
from workflows.views.request_context import get_form_data, is_htmx
from workflows.views.runs.learning import get_learning_result
from workflows.views.runs.memory.context import list_recalled, record_access
from workflows.views.runs.memory.recalled import MemoryRow
from workflows.views.value_text import format_entry, format_value


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """List the tasks and create one; with ``then=execute`` it runs at once."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    form = TaskForm(
        get_form_data(request), workflows=selectors.list_workflows(principal, team_id=team_id)
    )
    if form.is_valid():
        return send_once(
            request,
            principal,
            team_id,
            page_url=reverse("workflows:tasks"),
            send=partial(_create_task, request, principal, team_id, form),
            show=lambda task_id: redirect("workflows:task", task_id),
        )
    page_tasks, page = paginate_by_offset(request, selectors.list_tasks(principal, team_id=team_id))
    context = {"form": form, "tasks": page_tasks, "page": page}
    return render(request, "tasks/list.html", context, status=422 if form.errors else 200)


@login_required
@require_safe
def detail(request: HttpRequest, task_id: UUID) -> HttpResponse:
    principal = get_principal(request)
    context = _build_context(principal, selectors.find_task(principal, task_id))
    if is_htmx(request):
        return render(request, "tasks/_update.html", context)
    return render(request, "tasks/detail.html", context)


@login_required
@require_POST
def execute(request: HttpRequest, task_id: UUID) -> HttpResponse:
    principal = get_principal(request)
    task = selectors.find_task(principal, task_id)
    return send_once(
        request,
        principal,
        task.team_id,
        page_url=reverse("workflows:task", args=[task.pk]),
        send=partial(_execute_task, request, principal, task),
    )


def _create_task(
    request: HttpRequest, principal: Principal, team_id: UUID, form: TaskForm
) -> tuple[HttpResponse, Task]:
    task = tasks.create_task(
        principal,
        team_id=team_id,
        title=form.cleaned_data["title"],
        description=form.cleaned_data["description"],
        workflow=form.cleaned_data["workflow"],
    )
    if request.POST.get("then") == "execute":
        return _execute_task(request, principal, task)[0], task
    return redirect("workflows:task", task.pk), task


def _execute_task(
    request: HttpRequest, principal: Principal, task: Task
) -> tuple[HttpResponse, Task | None]:
    """Run the task and open its page, with a message if the task can't run."""
    try:
        tasks.execute_task(principal, task=task)
    except (NotAllowed, NotFound, InputRejected, WorkflowArchived) as error:
        context = _build_context(principal, task) | {
            "error": str(error),
            "is_closed": isinstance(error, NotAllowed),
        }
        status = 403 if isinstance(error, NotAllowed | NotFound) else 422
        return render(request, "tasks/detail.html", context, status=status), None
    return redirect("workflows:task", task.pk), task


def _build_context(principal: Principal, task: Task) -> dict[str, Any]:
    run = task.run
    has_ended = run is not None and run.has_ended
    return {
        "task": task,
        "run": run,
        "live": run is not None and not has_ended,
        "not_yours": "" if tasks.can_execute(principal, task) else tasks.NOT_FOR_KEY_OWNER,
        "outputs": [(name, format_value(value)) for name, value in (run.outputs or {}).items()]
        if run
        else [],
        "used_memories": _list_used_memories(principal, run) if run and has_ended else [],
        "learning": get_learning_result(principal, run) if run else None,
    }


def _list_used_memories(principal: Principal, run: Run) -> list[MemoryRow]:
    """Return the memories learned from earlier tasks that were in the prompt, as readable text."""
    if not memory_app.is_on():
        return []
    memories = list_recalled(
        principal, run, format_entry=partial(format_entry, format_other=memory_app.format_value)
    )
    return record_access(principal, run, [memory for memory in memories if memory.injected])[0]
