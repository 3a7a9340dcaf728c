"""Bodies of the API of documents in knowledge bases."""

from uuid import UUID

from config.http.openapi import Body
from memory.schemas.entries import Moment
from memory.services.documents.reading import Document
from memory.services.documents.uploading import UploadOutcome


class DocumentOut(Body):
    """A document. ``status`` is waiting, running, done or failed, and ``problem`` says why, or what was left out.

    ``pages`` counts those in use, and ``held`` those that wait for a review.
    """

    id: UUID
    namespace: str
    name: str
    size: int
    sha256: str
    source: str
    status: str
    problem: str
    pages: int
    held: int
    created_at: Moment
    finished_at: Moment | None


class UploadedDocumentOut(Body):
    """Says whether a file is ``new``, ``changed`` or ``unchanged``. An unchanged one has no document to wait for."""

    outcome: UploadOutcome
    document: DocumentOut | None


def document_out(document: Document) -> DocumentOut:
    upload = document.upload
    return DocumentOut.from_object(
        upload,
        namespace=upload.namespace.text,
        source=upload.source_id,
        pages=document.page_count,
        held=document.held_count,
    )
