"""Upload a document into a knowledge base: its original is stored, and a worker makes pages of it."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.principals import get_key_id
from accounts.request_transaction import pausable_tenant
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AlreadyExists, InvalidInput
from memory.host import StoredDocument, get_host
from memory.logic.knowledge.documents.pages import build_document_id
from memory.logic.knowledge.wiki_sources import find_source
from memory.models import DocumentUpload, Namespace
from memory.models.jobs import JobStatus
from memory.services.documents.reading import get_upload
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import authorize, open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.tasks import wake_document


MAX_FILES: Final = 20  # of one request


class UploadOutcome(StrEnum):
    NEW = "new"
    CHANGED = "changed"  # a document of this name has another content
    UNCHANGED = "unchanged"  # the knowledge base has this very content already


@dataclass(frozen=True, slots=True)
class UploadResult:
    outcome: UploadOutcome
    upload: DocumentUpload | None = None  # None if nothing is to be done


@retry_on_conflict
def upload_document(
    caller: MemoryCaller, *, namespace: str, name: str, content: bytes
) -> UploadResult:
    """Store the original and order its pages. A file of a name that is there already replaces that document's pages.

    Raise InvalidInput for a file that can't be stored, and AlreadyExists for a document that is being read.
    """
    access = authorize(caller, "write", "memory.stored", namespace=namespace)
    if access.external is not None:
        raise InvalidInput(_("namespace: memory of an external provider can't have documents."))
    sha256 = hashlib.sha256(content).hexdigest()
    source_id = build_document_id(name)
    with pausable_tenant([caller.team_id]):
        outcome = _compare(access, source_id, sha256)
        if outcome is UploadOutcome.UNCHANGED:
            return UploadResult(outcome, _find_open(access.target.row, source_id))
        # The host's rows come before memory's, in the order of locks.
        stored = get_host().store_document(caller.principal, caller.team_id, content, name)
        with open_namespace(
            caller, "write", "memory.stored", namespace=namespace, access=access
        ) as access:
            row = access.claim()
            if _find_open(row, source_id) is not None:
                message = _("%(name)s is being read already. Upload it again when that is done.")
                raise AlreadyExists(message % {"name": stored.name})
            upload = _create(caller, row, stored, source_id, sha256)
            access.detail.update(document=str(upload.pk), bytes=stored.size)
        transaction.on_commit(lambda: wake_document(caller.team_id, upload.pk))
    return UploadResult(outcome, upload)


def _compare(access: NamespaceAccess, source_id: str, sha256: str) -> UploadOutcome:
    open_upload = _find_open(access.target.row, source_id)
    if open_upload is not None and open_upload.sha256 == sha256:
        return UploadOutcome.UNCHANGED
    source = find_source(access.open_store(), access.text, source_id)
    if source is None:
        return UploadOutcome.NEW
    is_same = source.file_digest == sha256 and open_upload is None
    return UploadOutcome.UNCHANGED if is_same else UploadOutcome.CHANGED


def _find_open(row: Namespace | None, source_id: str) -> DocumentUpload | None:
    """Return the upload of this document that is not over."""
    open_rows = DocumentUpload.objects.unscoped().filter(
        namespace=row, source_id=source_id, status__in=(JobStatus.WAITING, JobStatus.RUNNING)
    )
    return open_rows.select_related("namespace").first() if row is not None else None


def _create(
    caller: MemoryCaller, row: Namespace, stored: StoredDocument, source_id: str, sha256: str
) -> DocumentUpload:
    requester: dict[str, Any] = {  # Any: two columns of one type
        "asked_by": caller.principal.user_id,
        "asked_with_key": get_key_id(caller.principal),
    }
    return DocumentUpload.objects.unscoped().create(
        team_id=caller.team_id,
        namespace=row,
        source_id=source_id,
        name=stored.name,
        size=stored.size,
        sha256=sha256,
        file_id=stored.id,
        subject=stored.subject,
        **requester,
    )


@retry_on_conflict
def retry_document(caller: MemoryCaller, *, upload_id: UUID) -> DocumentUpload:
    """Read a document again whose reading failed, now in the name of the caller. Raise AlreadyExists if it did not."""
    upload = get_upload(caller, upload_id, "write")
    with tenant([caller.team_id]):
        failed = DocumentUpload.objects.unscoped().filter(pk=upload.pk, status=JobStatus.FAILED)
        if _find_open(upload.namespace, upload.source_id) is not None or not failed.update(
            status=JobStatus.WAITING,
            attempts=0,
            problem="",
            finished_at=None,
            asked_by=caller.principal.user_id,
            asked_with_key=get_key_id(caller.principal),
        ):
            raise AlreadyExists(_("Only failed documents can be read again."))
        transaction.on_commit(lambda: wake_document(caller.team_id, upload.pk))
        upload.refresh_from_db()
    return upload
