"""Read an uploaded document and write its pages, with the present rights of whoever uploaded it.

The pages and the end of the upload are written in one transaction, so a worker that is lost leaves nothing half done,
and the next one begins again.
"""

from typing import Final
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.host import get_host
from memory.models import DocumentUpload
from memory.models.jobs import JobStatus
from memory.services.documents.writing import WrittenDocument, write_document
from memory.services.gateway.caller import MemoryCaller
from memory.services.job_claims import claim_job, load_caller, store_failure, update_job


SECONDS: Final = 180.0  # for reading a document and writing its pages
# What the reader puts at the end of a text of which it returns only the beginning.
_CUT_NOTE: Final = "[…]"
_LONG: Final = 400_000  # characters; a shorter text that ends so was written so


def carry_out_document(team_id: UUID, upload_id: UUID) -> None:
    """Claim the upload and make its pages, unless another worker has it or it has ended. No error is raised."""
    upload = claim_job(DocumentUpload, team_id, upload_id, lambda _upload: SECONDS)
    if upload is None:
        return
    with store_failure(upload):
        caller = load_caller(upload)
        content = get_host().read_document(team_id, upload.file_id)
        text = get_host().extract_text(content, upload.name)
        _finish(caller, upload, text)


@retry_on_conflict
def _finish(caller: MemoryCaller, upload: DocumentUpload, text: str) -> None:
    with tenant([upload.team_id]):
        document = write_document(caller, upload, text)
        update_job(
            upload,
            status=JobStatus.DONE,
            finished_at=timezone.now(),
            page_count=document.page_count,
            held_count=document.held_count,
            change_id=document.change_id,
            problem=" ".join(_list_notes(document, text))[:500],
        )


def _list_notes(document: WrittenDocument, text: str) -> list[str]:
    notes = []
    if len(text) > _LONG and text.endswith(_CUT_NOTE):
        notes.append(_("The document is very long: only its beginning was read."))
    if document.held_count:
        message = _("Pages that read like instructions wait for a review: %(count)d.")
        notes.append(message % {"count": document.held_count})
    if document.redacted_count:
        message = _("Pages from which secrets were removed: %(count)d.")
        notes.append(message % {"count": document.redacted_count})
    return notes
