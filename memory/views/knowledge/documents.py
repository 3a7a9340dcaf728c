"""The documents of a knowledge base: uploading, listing, reading again, removing, and their originals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory.core.errors import (
    AccessDenied,
    AlreadyExists,
    InvalidInput,
    QuotaExceeded,
    ValueTooLarge,
)
from memory.downloads import build_download
from memory.models import Namespace
from memory.models.jobs import JobStatus
from memory.services import PageView
from memory.services.documents.reading import (
    Document,
    find_uploads_of_files,
    list_documents,
    read_original,
)
from memory.services.documents.removal import remove_document
from memory.services.documents.uploading import (
    MAX_FILES,
    UploadOutcome,
    retry_document,
    upload_document,
)
from memory.views.request_context import build_caller, find_namespace, is_allowed


MEGABYTE: Final = 1024 * 1024
# What an upload shows as choosable: the formats that the reader of documents knows.
ACCEPTED: Final = (
    ".pdf,.docx,.pptx,.xlsx,.odt,.ods,.odp,.epub,.html,.htm,.md,.markdown,.txt,.csv,.tsv,.json,.jsonl,"
    ".yaml,.yml,.xml,.eml,.vtt,.srt"
)


@dataclass(frozen=True, slots=True)
class Uploading:
    """The outcome of a request that uploads files: what to say about them, and whether one of them is to be read."""

    results: Sequence["UploadMessage"] = ()
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class UploadMessage:
    """Tells people what happened to a file that they sent, if the list of documents doesn't show it."""

    text: str
    is_bad: bool


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def documents(request: HttpRequest, namespace_id: UUID) -> HttpResponse:
    """List the documents, as the page asks while some are being read; or upload some."""
    row = find_namespace(request, namespace_id)
    uploading = _upload_files(request, row) if request.method == "POST" else None
    if not getattr(request, "htmx", False):
        _announce(request, uploading)
        return redirect("memory:knowledge_base", namespace_id=row.pk)
    context = build_documents_context(request, row)
    if not context["is_reading"] and (uploading is None or uploading.is_new):
        # The pages are there now. A short document may have been read before its upload was answered.
        _announce(request, uploading)
        return HttpResponse(headers={"HX-Refresh": "true"})
    context["results"] = uploading.results if uploading is not None else ()
    return render(request, "memory/knowledge/_documents.html", context)


@login_required
@require_safe
def original(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    name, content = read_original(build_caller(request), upload_id=upload_id)
    return build_download(content, "application/octet-stream", name)


@login_required
@require_POST
def retry(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    try:
        upload = retry_document(build_caller(request), upload_id=upload_id)
    except AlreadyExists as fault:
        messages.error(request, str(fault))
        return redirect("memory:knowledge")
    return redirect("memory:knowledge_base", namespace_id=upload.namespace_id)


@login_required
@require_POST
def remove(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    """Forget the document with its pages, and offer to undo that."""
    try:
        namespace_id, forgotten = remove_document(build_caller(request), upload_id=upload_id)
    except AlreadyExists as fault:
        messages.error(request, str(fault))
        return redirect("memory:knowledge")
    address = reverse("memory:knowledge_base", args=[namespace_id])
    undo = f"?undo={forgotten.change_id}" if forgotten.change_id else ""
    return HttpResponseRedirect(f"{address}{undo}")


def build_documents_context(request: HttpRequest, row: Namespace) -> dict[str, Any]:
    rows: Sequence[Document] = list_documents(build_caller(request), namespace=row.text)
    return {
        "namespace": row,
        "documents": rows,
        "is_reading": any(not item.upload.is_over for item in rows),
        "accepted": ACCEPTED,
        "max_files": MAX_FILES,
        "max_megabytes": settings.FILE_DOCUMENT_MB,
        "may_write": is_allowed(request, "write", row),
        "may_forget": is_allowed(request, "forget", row),
        "failed": JobStatus.FAILED,
    }


def find_original_urls(request: HttpRequest, namespace_id: UUID, view: PageView) -> dict[str, str]:
    """Return the URLs of the originals of a page's sources, by source id."""
    file_ids = {source.file_id: source.id for source in view.sources if source.file_id}
    uploads = find_uploads_of_files(
        build_caller(request), namespace_id=namespace_id, file_ids=file_ids
    )
    return {
        file_ids[file_id]: reverse("memory:document_original", args=[upload.pk])
        for file_id, upload in uploads.items()
    }


def _announce(request: HttpRequest, uploading: Uploading | None) -> None:
    """Show the results on the page that is loaded next."""
    for result in uploading.results if uploading is not None else ():
        level = messages.ERROR if result.is_bad else messages.INFO
        messages.add_message(request, level, result.text)


def _upload_files(request: HttpRequest, row: Namespace) -> Uploading:
    if not is_allowed(request, "write", row):
        message = _("You can view %(namespace)s but not edit it.")
        raise AccessDenied(message % {"namespace": row.text})
    files: Sequence[Any] = request.FILES.getlist("files")  # Any: Django's UploadedFile is generic
    results, is_new = [], False
    for number, file in enumerate(files):
        name = file.name or "document"
        try:
            if number >= MAX_FILES:
                message = _("At most %(limit)d files at once.") % {"limit": MAX_FILES}
                raise InvalidInput(f"{name}: {message}")
            if (file.size or 0) > settings.FILE_DOCUMENT_MB * MEGABYTE:
                message = _("The file is too large: documents may have %(limit)s MB.")
                raise ValueTooLarge(f"{name}: {message % {'limit': settings.FILE_DOCUMENT_MB}}")
            result = upload_document(
                build_caller(request), namespace=row.text, name=name, content=file.read()
            )
        except (AlreadyExists, InvalidInput, QuotaExceeded) as fault:
            results.append(UploadMessage(str(fault), is_bad=True))
            continue
        if result.outcome is UploadOutcome.UNCHANGED:
            text = _("%(name)s: nothing new, these pages are there already.") % {"name": name}
            results.append(UploadMessage(text, is_bad=False))
        else:
            is_new = True
    if not files:
        results.append(UploadMessage(_("Select a file."), is_bad=True))
    return Uploading(results, is_new)
