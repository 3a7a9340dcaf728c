"""Erase a person's uploads of documents with their originals. Their pages are erased with their sources."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.host import get_host
from memory.models import DocumentUpload


DOCUMENTS = "memory_documentupload"  # in the receipt
FILES = "workflows_storedfile"


def remove_originals(
    team_id: UUID,
    person_ids: Sequence[str],
    namespace_ids: Sequence[UUID],
    *,
    with_person: bool,
    dry_run: bool,
) -> dict[str, int]:
    """Remove the originals that the host doesn't erase by itself, and return their number.

    It erases those that the person uploaded, ``with_person`` in their other data. Those that others uploaded into the
    person's namespaces, which are erased as a whole, have only these pages.
    """
    uploads = _find_uploads(team_id, person_ids, namespace_ids)
    if with_person:
        uploads = uploads.exclude(subject__in=list(person_ids))
    file_ids = list(uploads.values_list("file_id", flat=True))
    count = get_host().remove_documents(team_id, file_ids, dry_run=dry_run) if file_ids else 0
    return {FILES: count} if count else {}


def erase_uploads(
    team_id: UUID, person_ids: Sequence[str], namespace_ids: Sequence[UUID]
) -> dict[str, int]:
    count, _by_model = _find_uploads(team_id, person_ids, namespace_ids).delete()
    return {DOCUMENTS: count}


def _find_uploads(
    team_id: UUID, person_ids: Sequence[str], namespace_ids: Sequence[UUID]
) -> QuerySet[DocumentUpload]:
    of_person = Q(subject__in=list(person_ids)) | Q(namespace__in=list(namespace_ids))
    return DocumentUpload.objects.unscoped().filter(of_person, team_id=team_id)
