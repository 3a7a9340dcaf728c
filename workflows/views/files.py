"""The page's side of files: it stores an uploaded one, and sends a stored one."""

from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import quote
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import NotFound, NotSignedIn
from accounts.principals import get_principal
from accounts.request_transaction import give_back_connection
from workflows.engine.files.media_types import get_served_type, is_shown_inline
from workflows.errors import FileLinkExpired, FileRefused, FilesUnavailable
from workflows.files import contents
from workflows.files.links import build_link
from workflows.forms import find_upload_field
from workflows.models import StoredFile
from workflows.services.files.reading import find_file, find_signed_file
from workflows.services.files.uploading import upload_file
from workflows.views.catalog.workflow_page import get_document, load_published_document
from workflows.views.request_context import choose_status, find_workflow


_CACHE_SECONDS: Final = 300


class FileDownload(StreamingHttpResponse):
    """Sends a content piece by piece, by synchronous and asynchronous servers alike, and never as a page of this site."""

    def __init__(self, file: StoredFile) -> None:
        self._path = file.path
        super().__init__(
            contents.iter_chunks(file.path),
            content_type=get_served_type(file.media_type),
            headers={
                "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
                "Content-Length": str(file.size),
                "Content-Security-Policy": "sandbox; default-src 'none'",
                "X-Content-Type-Options": "nosniff",
                "Cross-Origin-Resource-Policy": "same-origin",
                "Cache-Control": f"private, max-age={_CACHE_SECONDS}",
                "Referrer-Policy": "no-referrer",
            },
        )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await sync_to_async(give_back_connection)()  # the view's, as the content may take long
        content = await sync_to_async(contents.open_content, thread_sensitive=False)(self._path)
        read_chunk = sync_to_async(content.read, thread_sensitive=False)
        try:
            while chunk := await read_chunk(contents.CHUNK_BYTES):
                yield chunk
        finally:
            content.close()


@require_safe
def send_file(request: HttpRequest, file_id: UUID) -> HttpResponseBase:
    """Send a file to whoever it belongs to, or who has a link that was signed some minutes ago."""
    try:
        file = find_signed_file(file_id, request.GET.get("token", ""))
        if file is None:
            file = find_file(get_principal(request), file_id)
    except FileLinkExpired as expired:
        try:
            file = find_file(get_principal(request), file_id)
        except (NotFound, NotSignedIn):
            return _answer_expired(request, expired)
    try:
        is_there = contents.exists(file.path)
    except OSError as error:
        raise FilesUnavailable from error
    if not is_there:
        return HttpResponse(status=410)  # removed in this moment, or lost by the store
    return FileDownload(file)


def _answer_expired(request: HttpRequest, expired: FileLinkExpired) -> HttpResponse:
    """Say that the link has expired: on a page to a browser, as JSON to any other client."""
    if "text/html" in request.headers.get("Accept", ""):
        raise expired
    error = {"type": type(expired).__name__, "message": str(expired), "retryable": False}
    return JsonResponse({"error": error}, status=410)


@login_required
@require_POST
def upload(request: HttpRequest, workflow_id: UUID) -> HttpResponse:
    """Store a file for a field of the workflow's form, or for its messages, and describe it for the form.

    A file that the field doesn't accept is refused now, and not when the run starts.
    """
    principal, workflow = find_workflow(request, workflow_id, "run")
    document = (
        load_published_document(workflow)
        if request.GET.get("version") == "published"
        else get_document(principal, workflow)
    )
    try:
        file = upload_file(
            principal,
            workflow.team_id,
            request.FILES.get("file"),
            workflow=workflow,
            field=find_upload_field(document, request.POST.get("field", "")) if document else None,
        )
    except FileRefused as refused:
        return JsonResponse({"error": str(refused)}, status=choose_status(refused))
    except FilesUnavailable as away:
        return JsonResponse({"error": str(away)}, status=503)
    return JsonResponse(describe_file(file), status=201)


def describe_file(file: StoredFile) -> dict[str, object]:
    return {
        "id": str(file.pk),
        "name": file.name,
        "size": file.size,
        "kind": file.kind,
        "url": build_link(file),
        "is_image": is_shown_inline(file.media_type),
    }
