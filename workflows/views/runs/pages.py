"""Pages of runs: start one, watch it, look at it later."""

from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import get_current_team_id, get_principal
from accounts.views.pagination import paginate_by_time
from workflows import permissions, selectors
from workflows.engine.errors import InputRejected
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.errors import InvalidValue
from workflows.forms import build_input_fields, read_inputs
from workflows.models.run import RunStatus
from workflows.services.debugging.start import start_run_with_options
from workflows.services.kinds import installed_kinds
from workflows.services.runs.runs import cancel_run
from workflows.templatetags.problems import in_words
from workflows.views.catalog.workflow_page import (
    document_for,
    group_asked,
    person_of,
    stream_of,
    version_for,
)
from workflows.views.editor.page import build_page_context
from workflows.views.request_context import run_for, typed, workflow_for
from workflows.views.runs.detail import run_page
from workflows.views.runs.filters import filter_asked, ignored_in
from workflows.views.runs.options import options_of
from workflows.views.runs.undo import undone_change


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    principal = get_principal(request)
    asked = filter_asked(request.GET)
    mine = selectors.runs_for(principal).filter(team_id=get_current_team_id(request))
    rows = asked.apply(mine)
    workflow = None
    if request.GET.get("workflow"):
        _, workflow = workflow_for(request, _uuid(request.GET["workflow"]))
        rows = rows.filter(workflow=workflow)
    page = paginate_by_time(request, rows.select_related("workflow", "subject_user"))
    context = {
        "runs": page.items,
        "page": page,
        "asked": asked,
        "ignored": ignored_in(request.GET, asked),
        "statuses": RunStatus.choices,
        "workflow": workflow,
        "base_url": settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "runs/list.html", context)


@login_required
@require_safe
def detail(request: HttpRequest, run_id: UUID) -> HttpResponse:
    principal, run = run_for(request, run_id)
    context = run_page(principal, run)
    context["undone"] = undone_change(principal, request.GET.get("undone", ""))
    if request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        return render(request, "runs/_update.html", context)
    return render(request, "runs/detail.html", context)


@login_required
@require_POST
def start(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    document = document_for(principal, workflow)
    errors: dict[str, str] = {}
    run, message = None, ""
    try:
        run = start_run_with_options(
            principal,
            options_of(request.POST, pins=permissions.may_edit(principal, workflow)),
            workflow=workflow,
            inputs=read_inputs(document, request.POST),
            conversation=typed(request.POST, "conversation") or None,
            subject=person_of(request.POST) or None,
            version=version_for(principal, workflow),
            stream=stream_of(request.POST),
        )
    except InputRejected as rejected:
        message = str(rejected)
        errors = {p.field: in_words(p) for p in rejected.problems if p.field}
    except InvalidValue as invalid:
        message = str(invalid)
        errors = {"group_id": message} if invalid.field == "group_id" else {}
    except NotFound as missing:
        if missing.field != "conversation_id":
            raise
        # In words that don't tell whose it is, or that there is one: names are the whole team's.
        message = _("This conversation name can't be used for a run. Choose another one.")
    if run and not request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        return redirect("workflows:run", run.pk)
    context = {
        "workflow": workflow,
        "fields": build_input_fields(document, request.POST.dict(), errors=errors),
        "person": request.POST.get("person", ""),
        # a new one that the run opened is the one to go on with
        "conversation_id": run.conversation.key
        if run and run.conversation
        else request.POST.get("conversation", ""),
        "by_conversation": "conversation" in list_memory_scopes(document, installed_kinds()),
        **group_asked(request.POST, document),
        "group_error": errors.get("group_id", ""),
        # what is said at each field isn't said above them once more
        "run_error": "" if errors else message,
        "started": run,
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(
            request, "workflows/runs/_run_form.html", context, status=422 if message else 200
        )
    page = build_page_context(request, principal, workflow) | context
    return render(request, "editor/page.html", page, status=422)


@login_required
@require_POST
def cancel(request: HttpRequest, run_id: UUID) -> HttpResponse:
    principal, run = run_for(request, run_id)
    cancel_run(principal, run)
    return redirect("workflows:run", run.pk)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)
