"""The pages that import documents: one as a new workflow or as a draft, or several files at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.principals import get_current_team_id, get_principal
from workflows import permissions
from workflows.engine.errors import DocumentInvalid
from workflows.engine.import_report.report import ImportReport, Need
from workflows.errors import NewerDocument
from workflows.forms import MAX_DOCUMENT_BYTES, ImportForm
from workflows.models import Folder, Workflow
from workflows.services.catalog import importing
from workflows.services.catalog.import_reports import report_workflow
from workflows.templatetags.problems import describe_with_location
from workflows.views.catalog.folder_location import get_location
from workflows.views.catalog.other_files import OtherFile, build_other_file, find_other_file
from workflows.views.request_context import (
    choose_form_status,
    choose_status,
    find_workflow,
    get_form_data,
    is_htmx,
)
from workflows.views.script_texts import translate_texts


MAX_FILES: Final = 30  # that are imported at once
MAX_REASONS: Final = 5  # that are shown for one of several files


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The imported workflow, the problems that prevented the import, or ``pending`` if it must be confirmed.

    ``status`` is that of the page: 413 if the document is too large.
    """

    workflow: Workflow | None = None
    problems: tuple[str, ...] = ()
    pending: bool = False
    status: int = 200


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of importing one of several files: a workflow with its report, or the problems."""

    name: str
    workflow: Workflow | None = None
    report: ImportReport | None = None
    reasons: tuple[str, ...] = ()
    other: OtherFile | None = None


@login_required
@require_http_methods(["GET", "POST"])
def import_(request: HttpRequest) -> HttpResponse:
    """Create a workflow from a document, or one from each of several files."""
    permissions.check_create(get_principal(request), get_current_team_id(request))
    if request.method == "GET" and "other" in request.GET:
        return _show_other_file(request, request.GET["other"])
    names = request.POST.getlist("too_large")
    if len(request.FILES.getlist("file")) + len(names) > 1:
        return _import_files(request, names)
    return _render_import_page(request, None)


@login_required
@require_http_methods(["GET", "POST"])
def replace(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Replace a workflow's draft with a document."""
    workflow = find_workflow(request, workflow_id, "edit")[1]
    return _render_import_page(request, workflow)


def _render_import_page(
    request: HttpRequest, workflow: Workflow | None, other: OtherFile | None = None
) -> HttpResponse:
    location = get_location(request)
    upload = request.FILES.get("file")
    other = other or (_find_other_upload(request, upload) if upload else None)
    form = ImportForm(get_form_data(request), request.FILES or None) if not other else ImportForm()
    has_errors = bool(form.errors)
    result = ImportResult(status=choose_form_status(form))
    if upload and form.non_field_errors():  # said with the name of the file
        problems = tuple(map(str, form.non_field_errors()))
        result = ImportResult(problems=problems, status=choose_form_status(form))
        form = ImportForm()
    if request.method == "POST" and not has_errors and not other:
        result = _import_text(
            request,
            workflow,
            location.folder,
            form.cleaned_data,
            is_confirmed="confirm" in request.POST,
        )
        if result.workflow:
            return _redirect_after_import(request, result.workflow, is_new=workflow is None)
        # The text field is filled, since a file cannot be sent twice.
        form = ImportForm(
            initial={"document": form.cleaned_data["text"], "name": form.cleaned_data["name"]}
        )
    if workflow is None:  # the form takes one, but this page imports several, each with a form
        form.fields["file"].widget.attrs["multiple"] = True
    context = {
        "form": form,
        "problems": result.problems,
        "file_name": upload.name if upload else "",
        "words": translate_texts("file_drop.js") | translate_texts("common/format.js"),
        "pending": result.pending,
        "other": other,
        "workflow": workflow,
        "location": location,
    }
    status = 422 if other and request.method == "POST" else result.status
    return render(request, "workflows/catalog/import.html", context, status=status)


def _import_text(
    request: HttpRequest,
    workflow: Workflow | None,
    folder: Folder | None,
    form_data: Mapping[str, str],
    *,
    is_confirmed: bool = False,
) -> ImportResult:
    principal, document_text = get_principal(request), form_data["text"]
    try:
        if workflow is None:
            imported = importing.import_document(
                principal,
                team_id=get_current_team_id(request),
                source=document_text,
                name=form_data["name"] or None,
                folder=folder,
                confirm_newer=is_confirmed,
            )
        else:
            imported = importing.replace_from_document(
                principal, workflow=workflow, source=document_text, confirm_newer=is_confirmed
            )
    except DocumentInvalid as invalid:
        titles = importing.read_node_titles(document_text)  # once: a document may be large
        problems = (describe_with_location(problem, titles) for problem in invalid.problems)
        return ImportResult(problems=tuple(problems), status=choose_status(invalid))
    except NewerDocument:
        return ImportResult(pending=True)
    return ImportResult(workflow=imported.workflow)


def _redirect_after_import(
    request: HttpRequest, workflow: Workflow, *, is_new: bool
) -> HttpResponse:
    """Lead to the report of what the document lacks here, or to the editor if it lacks nothing.

    A person who replaced a draft also stays in the editor if it lacks models only, since the cards show that.
    """
    report = report_workflow(get_principal(request), workflow, with_problems=False)
    if any(is_new or finding.need is not Need.MODEL for finding in report.findings):
        return redirect("workflows:import_report", workflow.pk)
    for note in importing.list_notes(workflow):  # the report has them, too
        messages.warning(request, describe_with_location(note, {}))
    return redirect("workflows:detail", workflow.pk)


# -- several files ---------------------------------------------------------------------------------


def _import_files(request: HttpRequest, too_large: list[str]) -> HttpResponse:
    """Import each file, and list the reports and the reasons of refusals.

    Of files that are too large for documents, the browser sends only the names.
    """
    files = request.FILES.getlist("file")
    results = [_import_file(request, file) for file in files[:MAX_FILES]]
    results += [_refuse_large(request, name) for name in too_large[:MAX_FILES]]
    context = {
        "results": results,
        "imported_count": sum(result.workflow is not None for result in results),
        "left_count": max(0, len(files) - MAX_FILES),
        "location": get_location(request),
    }
    return render(request, "workflows/catalog/imported_files.html", context)


def _import_file(request: HttpRequest, file: "UploadedFile[bytes]") -> FileResult:
    name = file.name or _("File")
    if other := _find_other_upload(request, file):
        return FileResult(name, other=other)
    form = ImportForm({}, {"file": file})
    if not form.is_valid():
        return FileResult(name, reasons=tuple(map(str, form.non_field_errors())))
    folder = get_location(request).folder
    result = _import_text(request, None, folder, form.cleaned_data)
    if result.pending:
        reason = _("It was created by a newer version. Import it alone to confirm that.")
        return FileResult(name, reasons=(reason,))
    if result.workflow is None:
        return FileResult(name, reasons=result.problems[:MAX_REASONS])
    report = report_workflow(get_principal(request), result.workflow)
    return FileResult(name, result.workflow, report)


def _refuse_large(request: HttpRequest, name: str) -> FileResult:
    other = build_other_file(get_principal(request), get_current_team_id(request), name, b"")
    if other.is_unknown:
        return FileResult(name, reasons=(_("The document can be at most 1 MB."),))
    return FileResult(name, other=other)


# -- files that are no workflows -------------------------------------------------------------------


def _show_other_file(request: HttpRequest, name: str) -> HttpResponse:
    """Say what a file is of which the browser knows that it is no workflow, and where it can be used."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    other = build_other_file(principal, team_id, name, b"")
    if is_htmx(request):
        return render(request, "workflows/catalog/_other_file.html", {"other": other})
    return _render_import_page(request, None, other)


def _find_other_upload(request: HttpRequest, file: "UploadedFile[bytes]") -> OtherFile | None:
    """Return what an uploaded file is, if it can't be a workflow."""
    content = file.read(MAX_DOCUMENT_BYTES)
    file.seek(0)
    principal, team_id = get_principal(request), get_current_team_id(request)
    return find_other_file(principal, team_id, file.name or "", content)
