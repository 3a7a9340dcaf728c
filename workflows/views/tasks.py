"""Pages of tasks: write one down, have it done, read what came of it and what it taught the next one."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
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
from workflows.views.request_context import posted
from workflows.views.runs.lessons import learnt_of
from workflows.views.runs.memory import looked_at, recalled_in
from workflows.views.runs.recalled_memory import Recollection
from workflows.views.value_text import format_value


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """Written down here; with ``then=execute`` it is begun at once."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    form = TaskForm(posted(request), workflows=selectors.workflows_for(principal, team_id=team_id))
    if form.is_valid():
        task = tasks.create_task(
            principal,
            team_id=team_id,
            title=form.cleaned_data["title"],
            description=form.cleaned_data["description"],
            workflow=form.cleaned_data["workflow"],
        )
        if request.POST.get("then") == "execute":
            return _executed(request, principal, task)
        return redirect("workflows:task", task.pk)
    rows, page = paginate_by_offset(request, selectors.tasks_for(principal, team_id=team_id))
    context = {
        "form": form,
        "tasks": rows,
        "page": page,
        "base_url": settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "tasks/list.html", context, status=422 if form.errors else 200)


@login_required
@require_safe
def detail(request: HttpRequest, task_id: UUID) -> HttpResponse:
    principal = get_principal(request)
    context = _page(principal, selectors.task_for(principal, task_id))
    if request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        return render(request, "tasks/_update.html", context)
    return render(request, "tasks/detail.html", context)


@login_required
@require_POST
def execute(request: HttpRequest, task_id: UUID) -> HttpResponse:
    principal = get_principal(request)
    return _executed(request, principal, selectors.task_for(principal, task_id))


def _executed(request: HttpRequest, principal: Principal, task: Task) -> HttpResponse:
    """Where it can't be, as the team has no workflow for tasks and this person may make none, the page says so."""
    try:
        tasks.execute_task(principal, task=task)
    except (NotAllowed, NotFound, InputRejected, WorkflowArchived) as refused:
        closed = isinstance(refused, NotAllowed)
        context = {**_page(principal, task), "refused": str(refused), "is_closed": closed}
        status = 403 if isinstance(refused, NotAllowed | NotFound) else 422
        return render(request, "tasks/detail.html", context, status=status)
    return redirect("workflows:task", task.pk)


def _page(principal: Principal, task: Task) -> dict[str, Any]:
    run = task.run
    done = run is not None and run.has_ended
    return {
        "task": task,
        "run": run,
        "live": run is not None and not done,
        "not_yours": "" if tasks.can_execute(principal, task) else tasks.NOT_YOURS,
        "outputs": [(name, format_value(value)) for name, value in (run.outputs or {}).items()]
        if run
        else [],
        "told": _told(principal, run) if run and done else [],
        "learnt": learnt_of(principal, run) if run else None,
    }


def _told(principal: Principal, run: Run) -> list[Recollection]:
    """What earlier tasks had taught and reached the prompt, in words rather than as it is kept."""
    if not memory_app.is_on():
        return []
    found = recalled_in(principal, run, written=memory_app.format_value)
    return looked_at(principal, run, [one for one in found if one.injected])[0]
