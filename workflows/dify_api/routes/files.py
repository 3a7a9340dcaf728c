"""Routes of files: upload one for later messages, and read its content."""

from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query, Router, Status

from accounts.errors import NotFound
from accounts.http.auth import KeyAuth
from workflows.dify_api.apps import App, make_end_user_id, open_app
from workflows.dify_api.bodies import PreviewQuery
from workflows.dify_api.calls import to_seconds
from workflows.dify_api.errors import DifyError, parse_uuid, refuse_as_missing
from workflows.engine.files.media_types import get_served_type
from workflows.engine.language.document import Json
from workflows.files import contents
from workflows.models import StoredFile
from workflows.services.files.reading import find_file
from workflows.services.files.uploading import upload_file


router = Router(auth=[KeyAuth()])


@router.post("/files/upload", response={201: dict[str, Any]}, summary="Upload a file")
def upload(request: HttpRequest) -> Status[dict[str, Json]]:
    """Store a file of a person: multipart/form-data with ``file`` and ``user``. Use its ``id`` as ``upload_file_id``."""
    app = open_app(request, verb="run")
    uploads = request.FILES.getlist("file")
    subject = app.find_subject(request.POST.get("user"))
    if not uploads:
        raise DifyError(400, "no_file_uploaded", "Please upload your file.")
    if len(uploads) > 1:
        raise DifyError(400, "too_many_files", "Only one file is allowed.")
    if not uploads[0].name:
        raise DifyError(400, "filename_not_exists_error", "The specified filename does not exist.")
    stored = upload_file(
        app.principal,
        app.workflow.team_id,
        uploads[0],
        workflow=app.workflow,
        subject=request.POST["user"],
    )
    return Status(201, _describe(app, stored, subject.id))


@router.get("/files/{file_id}/preview", summary="Read a file")
def preview(request: HttpRequest, file_id: str, query: Query[PreviewQuery]) -> HttpResponseBase:
    """Return the content of a person's file. It is never served as a page of this site."""
    app = open_app(request)
    subject = app.find_subject(query.user)
    file = _find(app, subject.id, file_id)
    try:
        content = contents.read(file.path)
    except OSError:
        raise refuse_as_missing("The file's content is gone.", "file_not_found") from None
    way = "attachment" if query.as_attachment else "inline"
    return HttpResponse(
        content,
        content_type=get_served_type(file.media_type),
        headers={
            "Content-Disposition": f"{way}; filename*=UTF-8''{quote(file.name, safe='')}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, max-age=300",
        },
    )


def _find(app: App, subject: str, text: str) -> StoredFile:
    file_id = parse_uuid(text)
    try:
        file = find_file(app.principal, file_id) if file_id else None
    except NotFound:
        file = None
    if file is None or file.subject != subject:
        app.record_refusal("file.preview", "storedfile", text)
        raise refuse_as_missing("File not found.", "file_not_found")
    return file


def _describe(app: App, file: StoredFile, subject: str) -> dict[str, Json]:
    return {
        "id": str(file.pk),
        "name": file.name,
        "size": file.size,
        "extension": file.extension.lstrip("."),
        "mime_type": file.media_type,
        "created_by": str(make_end_user_id(app.workflow.pk, subject)),
        "created_at": to_seconds(file.created_at),
        "preview_url": None,
        "source_url": f"/v1/files/{file.pk}/preview",
    }
