"""The page for export and import of memory; an import first shows a preview."""

import hashlib
from typing import Any, BinaryIO, Final, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.access import can
from accounts.principals import get_current_team_id, get_principal
from memory import selectors, services
from memory.core.errors import InvalidInput, ValueTooLarge
from memory.downloads import FileDownload
from memory.logic.entries.ingress import FindingReason
from memory.services.transfer.import_check import MAX_BYTES
from memory.services.transfer.import_report import (
    ConflictRule,
    ImportFinding,
    ImportReport,
    ImportTarget,
)
from memory.views.request_context import build_caller, find_namespace, load_titles, name_namespaces
from memory.views.review.quarantine_reasons import describe_reason


CHUNK_BYTES: Final = 256 * 1024
TOO_LARGE: Final = "too_large"  # the code of a form's error
MAX_CHOICES: Final = 100  # namespaces; others can be exported on their own pages


class FileForm(forms.Form):
    """The form of an import; ``checked`` is the digest of the previewed file, as any other needs a preview first."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        max_length=255,
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,.json,application/jsonl"}),
        help_text=gettext_lazy("A memory export: JSON Lines, up to 50 MB."),
        error_messages={
            "required": gettext_lazy("Select a file."),
            "empty": gettext_lazy("The file is empty."),
        },
    )
    on_conflict = forms.ChoiceField(
        label=gettext_lazy("On conflict"),
        choices=[
            (ConflictRule.NEWER.value, gettext_lazy("Keep the newer one")),
            (ConflictRule.MINE.value, gettext_lazy("Keep the existing one")),
            (ConflictRule.THEIRS.value, gettext_lazy("Use the one from the file")),
        ],
        initial=ConflictRule.NEWER.value,
    )
    as_mine = forms.BooleanField(
        label=gettext_lazy("The file is about me: import its user's memory as mine"),
        required=False,
        initial=True,
    )
    restore = forms.BooleanField(
        label=gettext_lazy("Bring back memories that were forgotten here"), required=False
    )
    checked = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def clean_file(self) -> "UploadedFile[bytes]":
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(_("The file is larger than 50 MB."), code=TOO_LARGE)
        return file


@login_required
@require_http_methods(["GET", "POST"])
def show_exchange(request: HttpRequest) -> HttpResponse:
    """Show the page, with a preview of the sent file, or with the report of its import once it is confirmed."""
    if request.method != "POST":
        return _render_page(request, FileForm())
    form = FileForm(request.POST, request.FILES)
    if not form.is_valid():
        status = 413 if form.has_error("file", TOO_LARGE) else 422
        return _render_page(request, form, status=status)
    fields = form.cleaned_data
    digest = _compute_digest(fields["file"])
    is_confirmed = "sure" in request.POST and fields["checked"] == digest
    try:
        report = services.import_file(
            build_caller(request),
            fields["file"].file,
            on_conflict=fields["on_conflict"],
            as_mine=fields["as_mine"],
            dry_run=not is_confirmed,
            restore=fields["restore"],
        )
    except (InvalidInput, ValueTooLarge) as fault:
        form.add_error("file", str(fault))
        status = 413 if isinstance(fault, ValueTooLarge) else 422
        return _render_page(request, form, status=status)
    status = 422 if report.problems else 200
    return _render_page(request, form, report, digest=digest, status=status)


@login_required
@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Undo an import in all its namespaces."""
    try:
        change_ids = [UUID(text) for text in request.POST.getlist("change")]
        count = services.undo_import(build_caller(request), changes=change_ids)
    except ValueError:
        raise InvalidInput(_("Change not found.")) from None
    messages.success(request, _("Import undone. Memories: %(count)d.") % {"count": count})
    return redirect("memory:exchange")


@login_required
@require_safe
def export(request: HttpRequest) -> FileDownload:
    """Export the namespace in the query, or the team's memory without one."""
    caller, id_text = build_caller(request), request.GET.get("namespace", "")
    if not id_text:
        return FileDownload(services.export_team(caller), "team-memory")
    try:
        namespace_id = UUID(id_text)
    except ValueError:
        raise InvalidInput(_("Namespace not found.")) from None
    row = find_namespace(request, namespace_id)
    return FileDownload(services.export_namespace(caller, namespace=row.text), row.text)


@login_required
@require_safe
def export_me(request: HttpRequest) -> FileDownload:
    """Export all memory about the caller."""
    subject = str(get_principal(request).user_id)
    return FileDownload(services.export_person(build_caller(request), subject=subject), "my-memory")


def _render_page(
    request: HttpRequest,
    form: FileForm,
    report: ImportReport | None = None,
    *,
    digest: str = "",
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {  # Any: template context
        "form": form,
        "report": report,
        "digest": digest,
        "import_count": report.new_count + report.overwritten_count if report else 0,
        "targets": _list_targets(request, report),
        "findings": [(row, _describe_finding(row)) for row in (report.findings if report else ())],
    }
    if getattr(request, "htmx", False):
        # A report is the result, even if it lists problems, and no error in the browser's log.
        return render(
            request, "memory/transfer/_report.html", context, status=200 if report else status
        )
    principal, team_id = get_principal(request), get_current_team_id(request)
    namespaces = selectors.list_fullest_namespaces(principal, team_id, limit=MAX_CHOICES + 1)
    context |= {
        "namespaces": name_namespaces(request, namespaces[:MAX_CHOICES]),
        "has_more_namespaces": len(namespaces) > MAX_CHOICES,
        "can_export_team": can(principal, "memory.share", team_id),
    }
    return render(request, "memory/transfer/transfer.html", context, status=status)


def _list_targets(
    request: HttpRequest, report: ImportReport | None
) -> list[tuple[ImportTarget, str]]:
    """Return the namespaces of an import with their titles."""
    if report is None or not report.targets:
        return []
    principal, team_id = get_principal(request), get_current_team_id(request)
    texts = {target.to for target in report.targets}
    rows = selectors.list_namespaces_by_text(principal, team_id, texts)
    titles = load_titles(request, rows)
    return [(target, titles.get(target.to, target.to)) for target in report.targets]


def _describe_finding(finding: ImportFinding) -> str:
    """Describe a finding of the content filter in the words for quarantine reasons."""
    reasons = {
        FindingReason.SECRET: ", ".join(finding.secrets),
        FindingReason.HAS_INSTRUCTIONS: finding.orders,
    }
    reported = [{"reason": name, "detail": detail} for name, detail in reasons.items() if detail]
    return " ".join(map(describe_reason, reported))


def _compute_digest(file: "UploadedFile[bytes]") -> str:
    digest = hashlib.sha256()
    content = cast(BinaryIO, file.file)
    content.seek(0)
    while chunk := content.read(CHUNK_BYTES):
        digest.update(chunk)
    content.seek(0)
    return digest.hexdigest()
