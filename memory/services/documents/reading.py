"""List the documents of a knowledge base, and return one with its original."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Q
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import NotFound
from memory.core.records import Tier
from memory.host import get_host
from memory.logic.knowledge.documents.pages import build_tag
from memory.logic.knowledge.pages import PAGE_CATEGORY
from memory.logic.knowledge.wiki_sources import SOURCE_CATEGORY, SourceKind, build_source_key
from memory.models import DocumentUpload, Entry, Namespace
from memory.models.jobs import JobStatus
from memory.permissions import Verb
from memory.providers.postgres import rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import authorize, open_namespace
from memory.services.transfer.exporting import check_can_export


MAX_LISTED: Final = 500


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a knowledge base, and its newest upload.

    ``is_present`` is true if the knowledge base has its pages, also while a new version of it is being read.
    """

    upload: DocumentUpload
    page_count: int
    held_count: int
    is_present: bool
    uploaded_by: str = ""  # the name of the member, empty for an API key

    @property
    def tag(self) -> str:
        """Return the tag that its pages have."""
        return build_tag(self.upload.name)

    @property
    def at(self) -> datetime:
        return self.upload.finished_at or self.upload.created_at


@retry_on_conflict
def list_documents(caller: MemoryCaller, *, namespace: str) -> list[Document]:
    """Return the documents of the knowledge base, the last uploaded first; those that failed are among them."""
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        row = access.target.row
        if row is None or access.external is not None:
            return []
        uploads = DocumentUpload.objects.unscoped().filter(namespace=row)
        newest: dict[str, DocumentUpload] = {}
        for upload in uploads.order_by("-created_at", "-id").select_related("namespace"):
            newest.setdefault(upload.source_id, upload)
        if not newest:
            return []
        present = _find_present(row, newest)
        counts = _count_pages(row, present)
        names = _load_names(newest.values())
        documents = [
            Document(
                upload,
                *counts.get(upload.source_id, (0, 0)),
                is_present=upload.source_id in present,
                uploaded_by=names.get(upload.asked_by, ""),
            )
            for upload in newest.values()
            if upload.source_id in present or upload.status != JobStatus.DONE
        ][:MAX_LISTED]
        access.detail.update(keys=len(documents), documents=True)
        return documents


def get_document(caller: MemoryCaller, *, upload_id: UUID) -> Document:
    """Return the upload with the state of its document. Whoever may view its namespace may view it."""
    upload = get_upload(caller, upload_id, "view")
    with tenant([caller.team_id]):
        present = _find_present(upload.namespace, [upload.source_id])
        counts = _count_pages(upload.namespace, present).get(upload.source_id, (0, 0))
        return Document(upload, *counts, is_present=bool(present))


@retry_on_conflict
def read_original(caller: MemoryCaller, *, upload_id: UUID) -> tuple[str, bytes]:
    """Return the name and the content of the original. Raise AccessDenied under emergency access."""
    upload = get_upload(caller, upload_id, "view")
    with open_namespace(
        caller, "view", "memory.exported", namespace=upload.namespace.text
    ) as access:
        check_can_export(access)
        content = get_host().read_document(caller.team_id, upload.file_id)
        access.detail.update(document=str(upload.pk), bytes=len(content))
        return upload.name, content


def find_uploads_of_files(
    caller: MemoryCaller, *, namespace_id: UUID, file_ids: Iterable[str]
) -> dict[str, DocumentUpload]:
    """Return the uploads by the ids of their originals. The caller may view the namespace."""
    ids = list(file_ids)
    if not ids:
        return {}
    with tenant([caller.team_id]):
        matches = DocumentUpload.objects.unscoped().filter(
            team_id=caller.team_id, namespace_id=namespace_id, file_id__in=ids
        )
        return {str(upload.file_id): upload for upload in matches}


def count_documents(caller: MemoryCaller, namespace_ids: Iterable[UUID]) -> dict[UUID, int]:
    """Return the number of documents by namespace. The caller may view the namespaces."""
    with tenant([caller.team_id]):
        sources = Entry.objects.unscoped().filter(
            namespace_id__in=list(namespace_ids),
            category=SOURCE_CATEGORY,
            deleted_at=None,
            value__kind=str(SourceKind.DOCUMENT),
        )
        counts = sources.order_by().values("namespace_id").annotate(count=Count("id"))
        return {row["namespace_id"]: row["count"] for row in counts}


def get_upload(caller: MemoryCaller, upload_id: UUID, verb: Verb) -> DocumentUpload:
    """Return the upload if the caller may do this in its namespace. Raise NotFound or AccessDenied otherwise."""
    with tenant([caller.team_id]):
        matches = DocumentUpload.objects.unscoped().select_related("namespace")
        upload = matches.filter(team_id=caller.team_id, pk=upload_id).first()
    if upload is None:
        raise NotFound(_("Document not found."))
    authorize(caller, verb, "memory.listed", namespace=upload.namespace.text)
    return upload


def _load_names(uploads: Iterable[DocumentUpload]) -> dict[UUID | None, str]:
    people = User.objects.filter(pk__in={upload.asked_by for upload in uploads})
    return {pk: name or email for pk, name, email in people.values_list("pk", "name", "email")}


def _find_present(row: Namespace, source_ids: Iterable[str]) -> set[str]:
    keys = {build_source_key(source_id): source_id for source_id in source_ids}
    living = rows.find_living(row).filter(category=SOURCE_CATEGORY, key__in=keys)
    return {keys[key] for key in living.values_list("key", flat=True)}


def _count_pages(row: Namespace, source_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the numbers of pages in use and of held ones by source, by one query. A page has one document."""
    source_id = KeyTextTransform("id", KeyTransform("0", KeyTransform("sources", "value")))
    pages = rows.find_living(row).filter(category=PAGE_CATEGORY).annotate(document=source_id)
    held = Count("id", filter=Q(tier=Tier.QUARANTINE))
    counts = pages.filter(document__in=list(source_ids)).order_by().values("document")
    numbers = counts.annotate(all=Count("id"), held=held).values_list("document", "all", "held")
    return {source: (total - held_count, held_count) for source, total, held_count in numbers}
