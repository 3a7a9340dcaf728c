"""Pages of runs: start one, follow it, and view it later."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal, get_current_team_id, get_principal
from accounts.views.pagination import (
    CursorPage,
    OffsetPage,
    paginate_by_offset,
    paginate_by_time,
    replace_query,
)
from workflows import memory_app, permissions, selectors
from workflows.engine.errors import DocumentInvalid, InputRejected
from workflows.engine.language.document import Document
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.errors import InvalidValue
from workflows.execution.kinds import load_kinds
from workflows.execution.usage.counting import count_new, load_cost
from workflows.forms import build_input_fields, read_inputs
from workflows.models import Workflow
from workflows.models.run import Run
from workflows.run_filters import (
    MAX_EXTERNAL_USERS,
    SEARCHED_RUNS,
    SORT_FIELDS,
    leave_out_end_users,
    sort_runs,
)
from workflows.services.runs.again import run_again as start_again
from workflows.services.runs.runs import cancel_run
from workflows.templatetags.problems import describe_problem
from workflows.views.catalog.workflow_page import build_group_context, get_document
from workflows.views.editor.page import build_page_context
from workflows.views.repeated_forms import send_once
from workflows.views.request_context import (
    choose_status,
    find_run,
    find_workflow,
    is_htmx,
    parse_id,
    read_text,
)
from workflows.views.runs.agent_rounds import build_rounds_context
from workflows.views.runs.detail import build_run_context
from workflows.views.runs.filters import build_filter_context, read_filter
from workflows.views.runs.options import start_run_from_form
from workflows.views.runs.refusals import describe_refusal, render_refusal
from workflows.views.runs.undo import find_undone_change
from workflows.views.waits.pages import build_questions_context, list_decisions


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the caller's own runs in the current team, filtered and in pages, on request with those of end users."""
    principal = get_principal(request)
    run_filter = read_filter(request.GET)
    team_runs = selectors.list_runs(principal).filter(team_id=get_current_team_id(request))
    matching_runs = run_filter.apply(team_runs)
    if not (run_filter.end_users or run_filter.person):
        matching_runs = leave_out_end_users(matching_runs)
    workflow = None
    if request.GET.get("workflow"):
        workflow = find_workflow(request, parse_id(request.GET["workflow"]))[1]
        matching_runs = matching_runs.filter(workflow=workflow)
    count_new(get_current_team_id(request))
    sort = read_sort(request.GET)
    rows = matching_runs.select_related("workflow", "subject_user").prefetch_related("feedback")
    page = paginate_runs(request, rows, sort)
    is_nested = not run_filter.children
    context = {
        "runs": page.items,
        "rows": build_rows(principal, page.items) if is_nested else list_flat(page.items),
        "page": page,
        **build_filter_context(request, run_filter, search="said"),
        "workflow": workflow,
        "workflow_chip_url": replace_query(request.GET, workflow=""),
        "columns": list_columns(request, sort),
        "sort": sort,
        "sees_team": permissions.may_view_usage(principal, get_current_team_id(request)),
        "searched_runs": SEARCHED_RUNS,
        "max_external_users": MAX_EXTERNAL_USERS,
    }
    return render(request, "runs/list.html", context)


@dataclass(frozen=True, slots=True)
class SortedPage:
    """A page of runs that are sorted by a column, for ``components/_pager.html``."""

    items: Sequence[Run]
    pages: OffsetPage

    def __getattr__(self, name: str) -> Any:  # Any: an attribute of the page
        return getattr(self.pages, name)


def paginate_runs(
    request: HttpRequest, rows: "QuerySet[Run]", sort: str
) -> CursorPage[Run] | SortedPage:
    """Return a page of the runs by time, or sorted by a column."""
    if not sort:
        return paginate_by_time(request, rows)
    return SortedPage(*paginate_by_offset(request, sort_runs(rows, sort)))


def read_sort(data: Mapping[str, str]) -> str:
    sort = read_text(data, "sort")
    return sort if sort in SORT_FIELDS else ""


def list_columns(request: HttpRequest, sort: str) -> list[tuple[str, str, str, bool]]:
    """Return name, title and URL of each column that sorts, and whether the list is sorted by it."""
    titles = {"duration": _("Duration"), "tokens": _("Tokens"), "cost": _("Cost")}
    return [
        (name, title, replace_query(request.GET, sort="" if name == sort else name), name == sort)
        for name, title in titles.items()
    ]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of the list. A child is shown under its parent."""

    run: Run
    is_child: bool = False


def build_rows(principal: Principal, runs: Sequence[Run]) -> list[RunRow]:
    """Return each run, followed by the runs that it started as sub-workflows."""
    children: dict[UUID, list[RunRow]] = {}
    for child in selectors.list_children(principal, runs) if runs else ():
        if child.parent_id is not None:
            children.setdefault(child.parent_id, []).append(RunRow(child, is_child=True))
    return [row for run in runs for row in (RunRow(run), *children.get(run.pk, ()))]


def list_flat(runs: Sequence[Run]) -> list[RunRow]:
    return [RunRow(run, is_child=run.parent_id is not None) for run in runs]


@login_required
@require_safe
def detail(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show a run; htmx gets only the part that changes while the run is live."""
    principal, run = find_run(request, run_id)
    load_cost(run)
    context = build_run_context(principal, run)
    context["parent_run"] = selectors.find_parent(principal, run)
    context["child_runs"] = selectors.list_children(principal, [run])
    context |= build_questions_context(request, run)
    context["decisions"] = list_decisions(principal, run)
    context["questions_query"] = "?head"
    context["undone"] = find_undone_change(principal, request.GET.get("undone", ""))
    if is_htmx(request):
        return render(request, "runs/_update.html", context)
    return render(request, "runs/detail.html", context)


@login_required
@require_safe
def show_rounds(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the rounds of a run's agents, which a live run's page requests again after each call."""
    principal, run = find_run(request, run_id)
    context = {"run": run, "live": not run.has_ended, **build_rounds_context(principal, run)}
    return render(request, "runs/_agent_rounds.html", context)


@login_required
@require_safe
def show_metadata(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the goal, the stream and the lifetime of what the memory keeps about a run."""
    _principal, run = find_run(request, run_id)
    metadata = memory_app.get_run_metadata(run.team_id, run.pk) if memory_app.is_on() else None
    return render(request, "runs/_metadata.html", {"run": run, "metadata": metadata})


@login_required
@require_POST
def start(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Start a run with the submitted inputs, and show the form again if they are rejected (status 422)."""
    principal, workflow = find_workflow(request, workflow_id, "start")
    return send_once(
        request,
        principal,
        workflow.team_id,
        page_url=reverse("workflows:detail", args=[workflow.pk]),
        send=partial(_start, request, principal, workflow),
        show=lambda run_id: _show_started(request, workflow, find_run(request, run_id)[1]),
    )


def _start(
    request: HttpRequest, principal: Principal, workflow: Workflow
) -> tuple[HttpResponse, Run | None]:
    document = get_document(principal, workflow)
    errors: dict[str, str] = {}
    message, status = "", 422
    try:
        inputs = read_inputs(document, request.POST)
        run = start_run_from_form(request, principal, workflow, document, inputs=inputs)
        return _show_started(request, workflow, run), run
    except DocumentInvalid as invalid_document:
        if is_htmx(request):
            return render_refusal(request, invalid_document), None
        message = describe_refusal(invalid_document)
    except InputRejected as rejected:
        message = str(rejected)
        errors = {p.field: describe_problem(p) for p in rejected.problems if p.field}
    except InvalidValue as invalid:
        message, status = str(invalid), choose_status(invalid)
        errors = {"group_id": message} if invalid.field == "group_id" else {}
    except NotFound as error:
        if error.field != "conversation_id":
            raise
        # The message must not reveal that the conversation exists, or its owner.
        message = _("This conversation name can't be used for a run. Choose another one.")
    context = {
        "workflow": workflow,
        **_build_form_context(request.POST.dict(), document, errors, None),
        # Errors that are shown at a field are not repeated above the form.
        "run_error": "" if errors else message,
        "started": None,
    }
    if is_htmx(request):
        return render(request, "workflows/runs/_run_form.html", context, status=status), None
    page = build_page_context(request, principal, workflow) | context
    return render(request, "editor/page.html", page, status=status), None


def _show_started(request: HttpRequest, workflow: Workflow, run: Run) -> HttpResponse:
    """Show the run that the form started: below the form, which can start another one, or on its page."""
    if not is_htmx(request):
        return redirect("workflows:run", run.pk)
    document = get_document(get_principal(request), workflow)
    context = {
        "workflow": workflow,
        **_build_form_context(request.POST.dict(), document, {}, run),
        "run_error": "",
        "started": run,
    }
    return render(request, "workflows/runs/_run_form.html", context)


@login_required
@require_POST
def cancel(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Cancel a run; cancelling a run that has ended changes nothing."""
    principal, run = find_run(request, run_id)
    cancel_run(principal, run)
    return redirect("workflows:run", run.pk)


@login_required
@require_POST
def run_again(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Start a run with the same inputs and show it; if that is not possible, say why on the page of the earlier run."""
    principal, run = find_run(request, run_id)
    return send_once(
        request,
        principal,
        run.team_id,
        page_url=reverse("workflows:run", args=[run.pk]),
        send=partial(_run_again, request, principal, run),
    )


def _run_again(
    request: HttpRequest, principal: Principal, run: Run
) -> tuple[HttpResponse, Run | None]:
    try:
        new_run = start_again(principal, run)
    except (DocumentInvalid, InputRejected, InvalidValue, NotFound) as error:
        reason = describe_refusal(error) if isinstance(error, DocumentInvalid) else str(error)
        reason = reason or _("Its conversation or its user is no longer available.")
        messages.error(request, _("This run can't be repeated: %(reason)s") % {"reason": reason})
        return redirect("workflows:run", run.pk), None
    return redirect("workflows:run", new_run.pk), new_run


def _build_form_context(
    data: Mapping[str, str], document: Document, errors: Mapping[str, str], run: Run | None
) -> dict[str, Any]:
    """Return the values and errors of the run form; ``run`` is the run that was just started."""
    return {
        "fields": build_input_fields(document, data, errors=errors),
        "person": data.get("person", ""),
        # The next run continues the conversation that the started run opened.
        "conversation_id": run.conversation.key
        if run and run.conversation
        else data.get("conversation", ""),
        "by_conversation": "conversation" in list_memory_scopes(document, load_kinds()),
        **build_group_context(data, document),
        "group_error": errors.get("group_id", ""),
    }
