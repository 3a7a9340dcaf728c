"""Store a file that a person or a program sends."""

from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.principals import get_key_id
from accounts.request_transaction import pausable_tenant
from workflows import permissions
from workflows.engine.files.media_types import detect_type
from workflows.errors import FileRefused, FilesUnavailable, FileTooLarge
from workflows.files.accepted import UploadField
from workflows.files.limits import get_largest
from workflows.files.records import Owner, create_file
from workflows.models import StoredFile, Workflow
from workflows.services import audit_lines
from workflows.services.runs.runs import resolve_subject


def upload_file(
    principal: Principal,
    team_id: UUID,
    upload: "UploadedFile[bytes] | None",
    *,
    workflow: Workflow | None = None,
    subject: str | None = None,
    field: UploadField | None = None,
) -> StoredFile:
    """Store an uploaded file for a person. ``workflow`` and ``field`` are what will use it, if the caller knows them.

    Raises FileRefused for a file that is missing, too large or not accepted, FilesUnavailable if the store can't be
    reached, and NotAllowed unless the caller may start runs.
    """
    if workflow is not None:
        permissions.check_run(principal, workflow)
    else:
        permissions.check_upload(principal, team_id)
    if upload is None:
        raise FileRefused(_("Select a file."), field="file")
    if field is not None:
        field.check_size(upload.size or 0, None, upload.name or "")
    if (upload.size or 0) > get_largest():
        megabytes = get_largest() // 1024**2
        message = _("The file is too large: no file may have more than %(limit)s MB.")
        raise FileTooLarge(message % {"limit": megabytes}, field="file")
    content, name = bytes(upload.read()), upload.name or ""
    if field is not None:
        media_type = detect_type(content, name)
        field.check_type(media_type, name)
        field.check_size(len(content), media_type.kind, name)
    with pausable_tenant([team_id]):
        person = resolve_subject(principal, subject)
        owner = Owner(team_id, person.id, person.user_id, principal.user_id, get_key_id(principal))
        try:
            file = create_file(owner, content, name)
        except OSError as error:
            raise FilesUnavailable from error
        audit_lines.record(principal, file, "file.uploaded", kind=file.kind, bytes=file.size)
    return file
