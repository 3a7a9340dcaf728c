"""Remove a document with all its pages, as one change that can be undone; its original is deleted later."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Team
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AlreadyExists
from memory.host import get_host
from memory.logic.knowledge.wiki_sources import SOURCE_CATEGORY, build_source_key
from memory.models import DocumentUpload, Entry
from memory.models.jobs import JobStatus
from memory.services.documents.reading import get_upload
from memory.services.documents.writing import list_document_entries
from memory.services.entries.forget import ForgetResult, forget_selected
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace


# The time that an original is kept that no document has any more, so that undo brings it back as well.
KEEP_ORIGINALS: Final = timedelta(days=30)


@retry_on_conflict
def remove_document(caller: MemoryCaller, *, upload_id: UUID) -> tuple[UUID, ForgetResult]:
    """Forget the document's pages and its source, and return the id of their namespace and what was forgotten.

    An upload that failed disappears with its original.
    """
    upload = get_upload(caller, upload_id, "forget")
    if not upload.is_over:
        raise AlreadyExists(_("The document is being read. Remove it when that is done."))
    reason = _("document %(name)s removed") % {"name": upload.name}
    with tenant([caller.team_id]):
        get_host().remove_documents(caller.team_id, _drop_failed(upload))
        with open_namespace(
            caller, "forget", "memory.forgotten", namespace=upload.namespace.text
        ) as access:
            ids = [entry.pk for entry in list_document_entries(upload.namespace, upload.source_id)]
            is_source = Q(key=build_source_key(upload.source_id), category=SOURCE_CATEGORY)
            forgotten = forget_selected(
                access, lambda query: query.filter(Q(pk__in=ids) | is_source), reason
            )
            return upload.namespace_id, forgotten


def _drop_failed(upload: DocumentUpload) -> list[UUID]:
    """Delete the failed uploads of the document, and return the ids of their originals."""
    failed = DocumentUpload.objects.unscoped().filter(
        namespace=upload.namespace, source_id=upload.source_id, status=JobStatus.FAILED
    )
    file_ids = list(failed.values_list("file_id", flat=True))
    failed.delete()
    return file_ids


def tidy_documents(now: datetime | None = None) -> int:
    """Delete the originals of every team that no document has had for long. Return their number."""
    before = (now or timezone.now()) - KEEP_ORIGINALS
    return sum(_tidy_team(team_id, before) for team_id in Team.objects.values_list("id", flat=True))


def _tidy_team(team_id: UUID, before: datetime) -> int:
    with tenant([team_id]):
        old = DocumentUpload.objects.unscoped().filter(team_id=team_id, finished_at__lt=before)
        uploads = list(old.order_by("id")[:500])
        sources = Entry.objects.unscoped().filter(
            Q(deleted_at=None) | Q(deleted_at__gte=before),
            team_id=team_id,
            category=SOURCE_CATEGORY,
            value__file_id__in=[str(upload.file_id) for upload in uploads],
        )
        used = set(sources.values_list("value__file_id", flat=True))
        unused = [upload for upload in uploads if str(upload.file_id) not in used]
        file_ids = [upload.file_id for upload in unused]
        count = get_host().remove_documents(team_id, file_ids) if file_ids else 0
        old.filter(pk__in=[upload.pk for upload in unused]).delete()
    return count
