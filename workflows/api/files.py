"""Routes of ``/api/v1/files``: upload, read and delete files for runs."""

from uuid import UUID

from django.http import HttpRequest
from ninja import File, Form, Router, Status
from ninja.files import UploadedFile

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from workflows import selectors
from workflows.files.links import build_link
from workflows.models import StoredFile
from workflows.schemas.files import FileOut
from workflows.services.files import deletion, reading, uploading


router = Router(auth=api_auth(), tags=["files"])


@router.post("/files", response={201: FileOut}, summary="Upload a file")
def upload_file(
    request: HttpRequest, file: File[UploadedFile], user: Form[str | None] = None
) -> Status[dict[str, object]]:
    """Store a file for runs: multipart/form-data with ``file``, and ``user``, your own id of the person it belongs to.

    Send its ``id`` as the value of a start field of the type file, or in ``files`` of a message. Its type is found by
    its content. A file that no run uses within a day is removed; a used one stays as long as one of its runs.
    """
    principal = get_principal(request)
    workflow = None
    if principal.workflow_id is not None:  # a key of one workflow uploads for this one
        workflow = selectors.find_workflow(principal, principal.workflow_id, "run")
    stored = uploading.upload_file(
        principal, get_current_team_id(request), file, workflow=workflow, subject=user or None
    )
    return Status(201, serialize_file(request, stored))


@router.post("/files/upload", response={201: FileOut}, summary="Upload a file (the path of Dify)")
def upload_file_as_dify(
    request: HttpRequest, file: File[UploadedFile], user: Form[str | None] = None
) -> Status[dict[str, object]]:
    """Store a file as ``POST /files`` does, under the path that clients of Dify's service API use."""
    return upload_file(request, file, user)


@router.get("/files/{uuid:file_id}", response=FileOut, summary="Get a file")
def read_file(request: HttpRequest, file_id: UUID) -> dict[str, object]:
    """Return a file of yours with an address from which its content can be fetched for some minutes."""
    return serialize_file(request, reading.find_file(get_principal(request), file_id))


@router.delete("/files/{uuid:file_id}", response={204: None}, summary="Delete a file")
def delete_file(request: HttpRequest, file_id: UUID) -> Status[None]:
    """Delete a file of yours with its content. Runs that have it show its name, and can't read it any more."""
    principal = get_principal(request)
    deletion.delete_file(principal, reading.find_file(principal, file_id))
    return Status(204, None)


def serialize_file(request: HttpRequest, file: StoredFile) -> dict[str, object]:
    return {
        "id": file.pk,
        "name": file.name,
        "type": file.kind,
        "extension": file.extension,
        "mime_type": file.media_type,
        "size": file.size,
        "sha256": file.sha256,
        "user": file.subject,
        "created_at": file.created_at,
        "expires_at": file.expires_at,
        "url": request.build_absolute_uri(build_link(file)),
    }
