"""Pages of workflows: list, one of them, and what can be done with it as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.principals import get_current_team_id, get_principal
from accounts.views.pagination import paginate_by_offset
from workflows import permissions, selectors
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Dialect, Mode
from workflows.errors import NewerDocument, NothingToPublish
from workflows.forms import ImportForm, NewForm, PublishForm, RenameForm
from workflows.models import Folder, Workflow
from workflows.services import publishing
from workflows.services.catalog import blank_workflow, importing
from workflows.services.editor import drafts
from workflows.templatetags.problems import describe_with_location
from workflows.views.catalog.folder_location import shelf_of
from workflows.views.publishing.page_updates import is_in_place, not_public, now_public
from workflows.views.request_context import posted, workflow_for


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of the list; ``path`` is said where rows of several folders stand together."""

    workflow: Workflow
    path: str


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """What lies in a folder, or at the top; a search looks everywhere, and says where it found."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    shelf = shelf_of(request)
    rows = selectors.workflows_for(principal, team_id=team_id)
    if shelf.query:
        rows = rows.filter(name__icontains=shelf.query)
    else:
        rows = rows.filter(folder=shelf.here)
    page_rows, page = paginate_by_offset(request, rows)
    context = {
        "shelf": shelf,
        "workflows": [Listed(row, shelf.tree.path_text(row.folder_id)) for row in page_rows],
        "page": page,
        "query": shelf.query,
        "can_create": permissions.may_create(principal, team_id),
        "can_arrange": permissions.may_arrange(principal, team_id),
        "base_url": settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/"),
    }
    return render(request, "workflows/catalog/list.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """An empty canvas; what it is to be, and what it is called, can be said first."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    permissions.check_create(principal, team_id)
    shelf = shelf_of(request)
    form = NewForm(posted(request))
    if form.is_valid():
        made = blank_workflow.create_blank(
            principal,
            team_id=team_id,
            mode=Mode(form.cleaned_data["mode"]),
            name=form.cleaned_data["name"] or None,
            folder=shelf.here,
        )
        return redirect("workflows:detail", made.pk)
    context = {"form": form, "shelf": shelf}
    return render(
        request, "workflows/catalog/new.html", context, status=422 if form.errors else 200
    )


@dataclass(frozen=True, slots=True)
class Upload:
    """What came of an import: a workflow, or why not."""

    workflow: Workflow | None = None
    problems: tuple[str, ...] = ()
    pending: bool = False


@login_required
@require_http_methods(["GET", "POST"])
def import_(request: HttpRequest) -> HttpResponse:
    permissions.check_create(get_principal(request), get_current_team_id(request))
    return _import_page(request, None)


@login_required
@require_http_methods(["GET", "POST"])
def replace(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    _, workflow = workflow_for(request, workflow_id, "edit")
    return _import_page(request, workflow)


def _import_page(request: HttpRequest, workflow: Workflow | None) -> HttpResponse:
    shelf = shelf_of(request)
    form = ImportForm(posted(request), request.FILES or None)
    upload, wrong = Upload(), bool(form.errors)
    if request.method == "POST" and not wrong:
        upload = _upload(request, workflow, shelf.here, form.cleaned_data)
        if upload.workflow:
            return redirect("workflows:detail", upload.workflow.pk)
        # a file is not sent twice: what it said goes back into the box
        form = ImportForm(
            initial={"document": form.cleaned_data["text"], "name": form.cleaned_data["name"]}
        )
    context = {
        "form": form,
        "problems": upload.problems,
        "pending": upload.pending,
        "workflow": workflow,
        "shelf": shelf,
    }
    return render(
        request,
        "workflows/catalog/import.html",
        context,
        status=422 if wrong or upload.problems else 200,
    )


def _upload(
    request: HttpRequest,
    workflow: Workflow | None,
    folder: Folder | None,
    given: Mapping[str, str],
) -> Upload:
    principal, text = get_principal(request), given["text"]
    confirmed = "confirm" in request.POST
    try:
        if workflow is None:
            imported = importing.import_document(
                principal,
                team_id=get_current_team_id(request),
                source=text,
                name=given["name"] or None,
                folder=folder,
                confirm_newer=confirmed,
            )
        else:
            imported = importing.reimport(
                principal, workflow=workflow, source=text, confirm_newer=confirmed
            )
    except DocumentInvalid as invalid:
        return Upload(
            problems=tuple(describe_with_location(problem) for problem in invalid.problems)
        )
    except NewerDocument:
        return Upload(pending=True)
    for warning in imported.warnings:
        messages.warning(request, describe_with_location(warning))
    return Upload(workflow=imported.workflow)


@login_required
@require_http_methods(["GET", "POST"])
def rename(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """A page of its own, and a dialog of the list that asks for it."""
    is_dialog = "HX-Request" in request.headers
    principal, workflow = workflow_for(request, workflow_id, "edit")
    form = RenameForm(
        posted(request),
        initial={"name": workflow.name, "description": workflow.description},
    )
    if form.is_valid():
        drafts.rename(principal, workflow=workflow, **form.cleaned_data)
        if is_dialog:
            return HttpResponse(status=204, headers={"HX-Redirect": shelf_of(request).address})
        return redirect("workflows:detail", workflow.pk)
    context = {"workflow": workflow, "form": form, "is_dialog": is_dialog}
    template = "workflows/catalog/_rename.html" if is_dialog else "workflows/catalog/rename.html"
    return render(request, template, context, status=422 if form.errors else 200)


@login_required
@require_POST
def publish(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    form = PublishForm(request.POST)
    note = form.cleaned_data["note"] if form.is_valid() else ""
    try:
        version = publishing.publish(principal, workflow=workflow, note=note)
    except DocumentInvalid:
        # the page lists every problem where it is, which a sentence here could not
        why = _("Not published: the draft has errors.")
        if is_in_place(request):
            return not_public(why, has_problems=True)
        messages.error(request, why)
        return redirect("workflows:detail", workflow.pk)
    except NothingToPublish as unchanged:
        if is_in_place(request):
            return not_public(str(unchanged))
        messages.info(request, str(unchanged))
        return redirect("workflows:detail", workflow.pk)
    said = _("Published as version %(number)s.") % {"number": version.number}
    if is_in_place(request):
        return now_public(request, principal, workflow, version, said)
    messages.success(request, said)
    return redirect(f"{reverse('workflows:detail', args=[workflow.pk])}?published")


@login_required
@require_POST
def duplicate(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id)
    copy = importing.duplicate(principal, workflow=workflow)
    messages.success(request, _("Workflow duplicated."))
    return redirect("workflows:detail", copy.pk)


@login_required
@require_safe
def export(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    principal, workflow = workflow_for(request, workflow_id, archived=True)
    dialect = _dialect(request.GET.get("dialect", ""))
    format_: Literal["json", "yaml"] = "json" if request.GET.get("format") == "json" else "yaml"
    text = drafts.export(principal, workflow=workflow, dialect=dialect, format=format_)
    types = {"json": "application/json", "yaml": "application/yaml"}
    response = HttpResponse(text, content_type=f"{types[format_]}; charset=utf-8")
    name = slugify(workflow.name) or "workflow"
    extension = "json" if format_ == "json" else "yml"
    response["Content-Disposition"] = f'attachment; filename="{name}.{extension}"'
    return response


def _dialect(text: str) -> Dialect | None:
    return Dialect(text) if text in set(Dialect) else None
