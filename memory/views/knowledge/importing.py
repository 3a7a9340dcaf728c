"""The import of knowledge pages from files, with a preview that changes nothing."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from memory import services
from memory.core.errors import InvalidInput, QuotaExceeded, ValueTooLarge
from memory.services.knowledge.knowledge_bases import find_knowledge_base
from memory.services.transfer.page_archive import MAX_ARCHIVE_BYTES, PageImport
from memory.views.request_context import build_caller, read_reason


Message = tuple[int, str]  # level, text

MAX_NAMES: Final = 5  # of files
_KINDS: Final = {messages.SUCCESS: "ok", messages.WARNING: "warn", messages.ERROR: "bad"}

# The messages before (True) and after an import.
_SKIPPED: Final[dict[bool, Promise]] = {
    True: gettext_lazy("To be skipped (not Markdown): %(names)s."),
    False: gettext_lazy("Skipped (not Markdown): %(names)s."),
}
_HELD: Final[dict[bool, Promise]] = {
    True: gettext_lazy("To be held for review (possible prompt injection): %(names)s."),
    False: gettext_lazy("Held for review (possible prompt injection): %(names)s."),
}
_REDACTED: Final[dict[bool, Promise]] = {
    True: gettext_lazy("Secrets found, which will be removed: %(names)s."),
    False: gettext_lazy("Secrets found and removed: %(names)s."),
}


@login_required
@require_POST
def import_pages(request: HttpRequest) -> HttpResponse:
    """Import Markdown files or a ZIP of them; an existing page is replaced by its file.

    A preview is shown beside the form, where the files stay selected.
    """
    namespace, is_dry_run = request.POST.get("namespace", ""), "dry_run" in request.GET
    has_place = is_dry_run and bool(getattr(request, "htmx", False))
    try:
        results = _import_files(request, namespace, is_dry_run)
    except ValueTooLarge as fault:
        if not has_place:
            raise  # the page of the error says the same with the same status
        return _render_preview(request, [(messages.ERROR, str(fault))], status=413)
    if has_place:
        return _render_preview(request, results)
    for level, text in results:
        messages.add_message(request, level, text)
    return HttpResponseRedirect(_find_url(request, namespace) or reverse("memory:knowledge"))


def _import_files(request: HttpRequest, namespace: str, is_dry_run: bool) -> list[Message]:
    try:
        archive, files = _read_files(request.FILES.getlist("files"))
        report = services.import_pages(
            build_caller(request),
            namespace=namespace,
            archive=archive,
            files=files,
            reason=read_reason(request),
            dry_run=is_dry_run,
        )
    except ValueTooLarge:
        raise
    except (InvalidInput, QuotaExceeded) as fault:
        return [(messages.ERROR, str(fault))]
    text = _("Pages imported: %(number)d.") % {"number": len(report.pages)}
    if is_dry_run:
        text = _format_preview(report)
    if report.skipped:
        text += " " + _format_names(_SKIPPED[is_dry_run], report.skipped)
    return [(messages.SUCCESS, text), *_list_findings(report, is_dry_run)]


def _render_preview(
    request: HttpRequest, results: Sequence[Message], *, status: int = 200
) -> HttpResponse:
    context = {"results": [(_KINDS[level], text) for level, text in results]}
    return render(request, "memory/knowledge/_import_preview.html", context, status=status)


def _format_preview(report: PageImport) -> str:
    new = sum(page.revision == 1 for page in report.pages)
    return _(
        "Preview only, nothing was changed. New pages: %(new)d. Existing pages to be updated: %(known)d."
    ) % {"new": new, "known": len(report.pages) - new}


def _list_findings(report: PageImport, is_dry_run: bool) -> Iterator[Message]:
    for texts, findings in ((_HELD, report.held_findings), (_REDACTED, report.redacted_findings)):
        if findings:
            files = [finding.file for finding in findings]
            yield messages.WARNING, _format_names(texts[is_dry_run], files)


def _format_names(text: Promise, names: Sequence[str]) -> str:
    return str(text) % {"names": ", ".join(names[:MAX_NAMES])}


def _read_files(
    files: Sequence[Any],  # Any: Django's UploadedFile is generic to the checker alone
) -> tuple[bytes | None, dict[str, bytes]]:
    """Return the content of at most one archive and of the other files by name; raise InvalidInput if there is more."""
    if sum(file.size or 0 for file in files) > MAX_ARCHIVE_BYTES:
        raise ValueTooLarge(_("The files are larger than 20 MB in total."))
    archives = [file for file in files if (file.name or "").lower().endswith(".zip")]
    if len(archives) > 1:
        raise InvalidInput(_("Only one archive at a time."))
    contents = {file.name or "page.md": file.read() for file in files if file not in archives}
    return (archives[0].read() if archives else None), contents


def _find_url(request: HttpRequest, namespace: str) -> str:
    row = find_knowledge_base(build_caller(request), namespace)
    return reverse("memory:knowledge_base", args=[row.pk]) if row else ""
