"""Memory as a file: taken out, and brought in after a look at what it would change."""

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

from accounts import access
from accounts.principals import get_current_team_id, get_principal
from memory import naming, selectors, services
from memory.core.errors import InvalidInput
from memory.downloads import FileDownload
from memory.logic.entries.ingress import FindingReason
from memory.services.transfer.import_check import MOST_BYTES
from memory.services.transfer.import_report import Caught, Clash, Imported, Target
from memory.views.request_context import caller_of
from memory.views.review.quarantine_reasons import describe_reason


CHUNK: Final = 256 * 1024
MOST_TO_CHOOSE: Final = 100  # namespaces; each one's own page exports it as well


class FileForm(forms.Form):
    """``checked``: the digest of the file whose report is shown; another one is looked at first."""

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
    clash = forms.ChoiceField(
        label=gettext_lazy("On conflict"),
        choices=[
            (Clash.NEWER.value, gettext_lazy("Keep the newer one")),
            (Clash.MINE.value, gettext_lazy("Keep the existing one")),
            (Clash.THEIRS.value, gettext_lazy("Use the one from the file")),
        ],
        initial=Clash.NEWER.value,
    )
    as_mine = forms.BooleanField(
        label=gettext_lazy("The file is about me: import its user's memory as mine"),
        required=False,
        initial=True,
    )
    checked = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)

    def clean_file(self) -> "UploadedFile[bytes]":
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MOST_BYTES:
            raise forms.ValidationError(_("The file is larger than 50 MB."))
        return file


@login_required
@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return _show(request, FileForm())
    form = FileForm(request.POST, request.FILES)
    if not form.is_valid():
        return _show(request, form, status=422)
    given = form.cleaned_data
    digest = _digest(given["file"])
    sure = "sure" in request.POST and given["checked"] == digest
    try:
        report = services.import_file(
            caller_of(request),
            given["file"].file,
            clash=given["clash"],
            as_mine=given["as_mine"],
            dry_run=not sure,
        )
    except InvalidInput as fault:
        form.add_error("file", str(fault))
        return _show(request, form, status=422)
    return _show(request, form, report, digest=digest, status=422 if report.problems else 200)


@login_required
@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """All that an import brought, over all its namespaces."""
    try:
        changes = [UUID(one) for one in request.POST.getlist("change")]
        count = services.undo_import(caller_of(request), changes=changes)
    except ValueError:
        raise InvalidInput(_("Change not found.")) from None
    messages.success(request, _("Import undone. Memories: %(count)d.") % {"count": count})
    return redirect("memory:exchange")


@login_required
@require_safe
def export(request: HttpRequest) -> FileDownload:
    """The namespace the address names; without one, the team's."""
    caller, wanted = caller_of(request), request.GET.get("namespace", "")
    if not wanted:
        return FileDownload(services.export_team(caller), "team-memory")
    try:
        namespace_id = UUID(wanted)
    except ValueError:
        raise InvalidInput(_("Namespace not found.")) from None
    row = selectors.find_namespace(
        get_principal(request), get_current_team_id(request), namespace_id
    )
    return FileDownload(services.export_namespace(caller, namespace=row.text), row.text)


@login_required
@require_safe
def export_me(request: HttpRequest) -> FileDownload:
    """All about who asks."""
    subject = str(get_principal(request).user_id)
    return FileDownload(services.export_person(caller_of(request), subject=subject), "my-memory")


def _show(
    request: HttpRequest,
    form: FileForm,
    report: Imported | None = None,
    *,
    digest: str = "",
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {  # what a template takes
        "form": form,
        "report": report,
        "digest": digest,
        "comes": report.new + report.overwritten if report else 0,
        "targets": _targets(request, report),
        "caught": [(one, _caught_why(one)) for one in report.caught] if report else [],
    }
    if getattr(request, "htmx", False):
        # What was asked for is a report, and here it is, whatever it says of the file.
        return render(request, "memory/transfer/_report.html", context)
    principal, team_id = get_principal(request), get_current_team_id(request)
    found = selectors.list_fullest_namespaces(principal, team_id, limit=MOST_TO_CHOOSE + 1)
    context["spaces"] = naming.name_namespaces(found[:MOST_TO_CHOOSE], reader_id=principal.user_id)
    context["are_more"] = len(found) > MOST_TO_CHOOSE
    context["may_team"] = access.can(principal, "memory.share", team_id)
    return render(request, "memory/transfer/transfer.html", context, status=status)


def _targets(request: HttpRequest, report: Imported | None) -> list[tuple[Target, str]]:
    """Namespaces that an import goes into, and what they are called here."""
    if report is None or not report.targets:
        return []
    principal = get_principal(request)
    wanted = {one.to for one in report.targets}
    found = selectors.list_namespaces_by_text(principal, get_current_team_id(request), wanted)
    named = naming.name_namespaces(found, reader_id=principal.user_id)
    titles = {one.row.text: one.title for one in named}
    return [(one, titles.get(one.to, one.to)) for one in report.targets]


def _caught_why(one: Caught) -> str:
    """What the gate did with a line, as a quarantine's reasons are said."""
    reasons = {
        FindingReason.SECRET: ", ".join(one.secrets),
        FindingReason.HAS_INSTRUCTIONS: one.orders,
    }
    told = [{"reason": name, "detail": detail} for name, detail in reasons.items() if detail]
    return " ".join(map(describe_reason, told))


def _digest(file: "UploadedFile[bytes]") -> str:
    digest = hashlib.sha256()
    content = cast(BinaryIO, file.file)
    content.seek(0)
    while chunk := content.read(CHUNK):
        digest.update(chunk)
    content.seek(0)
    return digest.hexdigest()
