"""``/api/v1/knowledge/documents``: documents of knowledge bases, of which a worker makes pages."""

from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import File, Form, Query, Router, Status
from ninja.files import UploadedFile
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from config.http.pages import Pages
from memory.api.entries import build_caller
from memory.core.errors import ValueTooLarge
from memory.schemas import documents as schemas
from memory.schemas import entries
from memory.schemas import knowledge as pages
from memory.schemas.namespaces import NamespaceText
from memory.services.documents import reading, removal, uploading


router = Router(auth=api_auth(), tags=["knowledge"])


@router.post(
    "/knowledge/documents",
    response={200: schemas.UploadedDocumentOut, 202: schemas.UploadedDocumentOut},
)
def upload_document(
    request: HttpRequest, file: File[UploadedFile], namespace: Form[NamespaceText]
) -> Status[schemas.UploadedDocumentOut]:
    """Upload a document into a knowledge base: multipart/form-data with ``file`` and ``namespace``.

    The response is 202 with the document to poll until its ``status`` is done or failed. A file with the name of a
    document replaces its pages; the very same content is 200 and changes nothing.
    """
    megabytes = settings.FILE_DOCUMENT_MB
    if (file.size or 0) > megabytes * 1024**2:
        message = _("The file is too large: documents may have %(limit)s MB.")
        raise ValueTooLarge(f"file: {message % {'limit': megabytes}}")
    caller = build_caller(request)
    result = uploading.upload_document(
        caller, namespace=namespace, name=file.name or "document", content=file.read()
    )
    document = None
    if result.upload is not None:
        document = schemas.document_out(reading.get_document(caller, upload_id=result.upload.pk))
    status = 200 if result.outcome is uploading.UploadOutcome.UNCHANGED else 202
    return Status(status, schemas.UploadedDocumentOut(outcome=result.outcome, document=document))


@router.get("/knowledge/documents", response=list[schemas.DocumentOut])
@paginate(Pages)
def list_documents(
    request: HttpRequest, params: Query[pages.PagesQuery]
) -> list[schemas.DocumentOut]:
    """List the documents of a knowledge base, the last uploaded first; those that failed are among them."""
    documents = reading.list_documents(build_caller(request), namespace=params.namespace)
    return list(map(schemas.document_out, documents))


@router.get("/knowledge/documents/{uuid:upload_id}", response=schemas.DocumentOut)
def get_document(request: HttpRequest, upload_id: UUID) -> schemas.DocumentOut:
    """Read the state of a document."""
    return schemas.document_out(reading.get_document(build_caller(request), upload_id=upload_id))


@router.delete("/knowledge/documents/{uuid:upload_id}", response=entries.ForgottenOut)
def remove_document(request: HttpRequest, upload_id: UUID) -> entries.ForgottenOut:
    """Remove a document with all its pages; ``change`` undoes it. 409 while it is being read."""
    _namespace_id, forgotten = removal.remove_document(build_caller(request), upload_id=upload_id)
    return entries.ForgottenOut(count=forgotten.count, change=forgotten.change_id)
