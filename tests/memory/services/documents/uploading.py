"""Uploads as the tests make them: the worker reads each document at once."""

from typing import Any

from accounts.tenancy import tenant
from memory import services
from memory.models import DocumentUpload
from memory.services.documents.reading import Document, list_documents
from memory.services.documents.uploading import UploadResult, upload_document
from memory.services.documents.worker import carry_out_document
from tests.memory.services.conftest import at_door
from tests.support.cast import Person


BASE = "global:handbook"
VACATION = "Everyone has twenty-five days of paid vacation in each calendar year. " * 6
ILLNESS = "Whoever is ill calls the office before nine in the morning. " * 6
TEXT = f"# Leave\n\n## Vacation\n\n{VACATION}\n\n## Illness\n\n{ILLNESS}"


def upload(
    person: Person, text: str = TEXT, name: str = "Handbook.md", namespace: str = BASE
) -> UploadResult:
    result = upload_document(at_door(person), namespace=namespace, name=name, content=text.encode())
    if result.upload is not None:
        carry_out_document(person.team.id, result.upload.pk)
    return result


def documents(person: Person, namespace: str = BASE) -> list[Document]:
    return list_documents(at_door(person), namespace=namespace)


def states(person: Person) -> list[tuple[str, str, int, str]]:
    return [
        (item.upload.name, item.upload.status, item.page_count, item.upload.problem)
        for item in documents(person)
    ]


def titles(person: Person, namespace: str = BASE) -> list[str]:
    base = services.get_knowledge_base(at_door(person), namespace=namespace)
    return [page.title for page in base.pages]


def rows_of(person: Person, **conditions: Any) -> list[DocumentUpload]:
    with tenant([person.team.id]):
        return list(DocumentUpload.objects.unscoped().filter(**conditions).order_by("id"))
