"""Rows and objects of knowledge pages."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _page(person: Person, canary: str) -> Any:
    """In application memory, which the team shares."""
    return _written(person, f"global:{canary}", canary)


def _private_page(person: Person, canary: str) -> Any:
    return _written(person, f"user:{person.user.pk}", canary)


def _written(person: Person, namespace: str, canary: str) -> Any:
    from memory.services import MemoryCaller, write_pages

    caller = MemoryCaller(person.principal, person.team.id)
    draft = {"title": canary, "content": canary, "tags": [canary]}
    (kept,) = write_pages(caller, namespace=namespace, pages=[draft])
    return kept.entry.id


def _knowledge_base(person: Person, canary: str) -> Any:
    return _namespace_of(person, _page(person, canary))


def _private_knowledge_base(person: Person, canary: str) -> Any:
    return _namespace_of(person, _private_page(person, canary))


def _wiki_job(person: Person, canary: str) -> Any:
    return _failed_job(person, canary, _knowledge_base(person, canary))


def _private_wiki_job(person: Person, canary: str) -> Any:
    return _failed_job(person, canary, _private_knowledge_base(person, canary))


def _failed_job(person: Person, canary: str, namespace_id: Any) -> Any:
    from accounts.tenancy import tenant
    from memory.models import WikiJob

    with tenant([person.team.id]):
        row, _made = WikiJob.objects.unscoped().get_or_create(
            team=person.team,
            namespace_id=namespace_id,
            task="compile",
            status="failed",
            defaults={"problem": canary},
        )
    return row.pk


def _document(person: Person, canary: str) -> Any:
    return _failed_document(person, canary, _knowledge_base(person, canary))


def _private_document(person: Person, canary: str) -> Any:
    return _failed_document(person, canary, _private_knowledge_base(person, canary))


def _failed_document(person: Person, canary: str, namespace_id: Any) -> Any:
    from accounts.tenancy import tenant
    from config.ids import uuid7
    from memory.models import DocumentUpload

    with tenant([person.team.id]):
        row, _made = DocumentUpload.objects.unscoped().get_or_create(
            team=person.team,
            namespace_id=namespace_id,
            source_id=canary,
            status="failed",
            defaults={
                "name": canary,
                "size": 1,
                "sha256": canary[:64],
                "file_id": uuid7(),
                "subject": str(person.user.pk),
                "asked_by": person.user.pk,
                "problem": canary,
            },
        )
    return row.pk


def _talk(person: Person, canary: str) -> Any:
    """A conversation of this person alone, with a history."""
    from memory.services import MemoryCaller, converse, list_reachable

    known = {"conversation_id": canary}
    caller = MemoryCaller(
        person.principal,
        person.team.id,
        identity=known,
        reach=list_reachable(known),
        participants=frozenset({person.user.pk}),
    )
    converse(caller, action="append", messages=[{"role": "user", "content": canary}])
    return _namespace_named(person, f"conv:{canary}")


def _namespace_of(person: Person, entry_id: Any) -> Any:
    from accounts.tenancy import tenant
    from memory.models import Entry

    with tenant([person.team.id]):
        return Entry.objects.unscoped().get(pk=entry_id).namespace_id


def _namespace_named(person: Person, text: str) -> Any:
    from accounts.tenancy import tenant
    from memory.models import Namespace

    with tenant([person.team.id]):
        return Namespace.objects.unscoped().get(text=text).pk


OBJECTS: dict[str, Maker] = {
    "page": _page,
    "private page": _private_page,
    "knowledge base": _knowledge_base,
    "private knowledge base": _private_knowledge_base,
    "document": _document,
    "private document": _private_document,
    "talk": _talk,
    "wiki job": _wiki_job,
    "private wiki job": _private_wiki_job,
}

PAGE = {"entry_id": "page"}
PRIVATE = {"entry_id": "private page"}
SHARED = {"namespace": "global:matrix"}
ONE = "api/v1/knowledge/pages/<uuid:entry_id>"
HERE = "memory/knowledge/pages/<uuid:entry_id>"
BASE = "memory/knowledge/<uuid:namespace_id>"
KNOWLEDGE_BASE = {"namespace_id": "knowledge base"}
PRIVATE_KNOWLEDGE_BASE = {"namespace_id": "private knowledge base"}
TALK = {"namespace_id": "talk"}
JOB = {"job_id": "wiki job"}
PRIVATE_JOB = {"job_id": "private wiki job"}
API_JOB = "api/v1/knowledge/jobs/<uuid:job_id>"
JOB_PAGE = "memory/knowledge/jobs/<uuid:job_id>"
DOCUMENT = {"upload_id": "document"}
PRIVATE_DOCUMENT = {"upload_id": "private document"}
API_DOCUMENT = "api/v1/knowledge/documents/<uuid:upload_id>"
DOCUMENT_PAGE = "memory/knowledge/documents/<uuid:upload_id>"
WRITING = {"namespace": "global:matrix", "title": "t"}
CHANGED = {"title": "t", "revision": "1"}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS = [
    # Without a namespace nobody gets further
    Row("GET", "api/v1/knowledge/pages", "- 422 422 422 422 422"),
    Row("GET", "api/v1/knowledge/search", "- 422 422 422 422 422"),
    Row("GET", "api/v1/knowledge/export", "- 422 422 422 422 422"),
    Row("GET", "api/v1/memory/conversation", "- 422 422 422 422 422"),
    Row(
        "POST",
        "api/v1/knowledge/pages",
        "- 201 403 201 201 201",
        body={**SHARED, "pages": [{"title": "t"}]},
    ),
    Row(
        "POST",
        "api/v1/knowledge/import",
        "- 201 403 201 201 201",
        body={**SHARED, "files": {"t.md": "t"}},
    ),
    Row("GET", ONE, "- 404 200 200 200 404", PAGE),
    Row("GET", ONE, "- 404 404 404 404 404", PRIVATE),
    # Without If-Match nobody gets further
    Row("PATCH", ONE, "- 422 422 422 422 422", PAGE, {}, foreign=422),
    Row("DELETE", ONE, "- 404 403 200 200 404", PAGE),
    Row("DELETE", ONE, "- 404 404 404 404 404", PRIVATE),
    Row("GET", f"{ONE}/links", "- 404 200 200 200 404", PAGE),
    Row("GET", f"{ONE}/links", "- 404 404 404 404 404", PRIVATE),
    Row("GET", f"{ONE}/revisions", "- 404 200 200 200 404", PAGE),
    Row("GET", f"{ONE}/revisions", "- 404 404 404 404 404", PRIVATE),
    Row("POST", f"{ONE}/confirm", "- 404 403 200 200 404", PAGE, {}),
    Row("POST", f"{ONE}/confirm", "- 404 404 404 404 404", PRIVATE, {}),
    # The wiki
    Row("GET", "api/v1/knowledge/sources", "- 422 422 422 422 422"),
    Row("GET", "api/v1/knowledge/lint", "- 422 422 422 422 422"),
    Row("GET", "api/v1/knowledge/log", "- 422 422 422 422 422"),
    Row(
        "POST",
        "api/v1/knowledge/sources",
        "- 201 403 201 201 201",
        body={**SHARED, "source": {"text": "t"}},
    ),
    Row("POST", "api/v1/knowledge/compile", "- 200 403 200 200 200", body=SHARED),
    Row("POST", f"{ONE}/compile", "- 404 403 422 422 404", PAGE, {}),  # it has no sources
    Row("POST", f"{ONE}/compile", "- 404 404 404 404 404", PRIVATE, {}),
    Row("POST", f"{ONE}/link", "- 404 403 404 404 404", PAGE, {"other": "no page"}),
    Row("POST", f"{ONE}/link", "- 404 404 404 404 404", PRIVATE, {"other": "no page"}),
    Row("POST", f"{ONE}/merge", "- 404 403 404 404 404", PAGE, {"other": "no page"}),
    Row("POST", f"{ONE}/merge", "- 404 404 404 404 404", PRIVATE, {"other": "no page"}),
    Row("GET", API_JOB, "- 404 200 200 200 404", JOB),
    Row("GET", API_JOB, "- 404 404 404 404 404", PRIVATE_JOB),
    Row("POST", f"{API_JOB}/retry", "- 404 403 202 202 404", JOB, {}),
    Row("POST", f"{API_JOB}/retry", "- 404 404 404 404 404", PRIVATE_JOB, {}),
    Row("GET", f"{JOB_PAGE}/", "- 404 302 302 302 -", JOB),
    Row("GET", f"{JOB_PAGE}/", "- 404 404 404 404 -", PRIVATE_JOB),
    Row("POST", f"{JOB_PAGE}/retry/", "- 404 403 302 302 -", JOB, {}),
    Row("POST", f"{JOB_PAGE}/retry/", "- 404 404 404 404 -", PRIVATE_JOB, {}),
    # Documents. Without a file or a namespace nobody gets further; an original that is gone is not found
    Row("GET", "api/v1/knowledge/documents", "- 422 422 422 422 422"),
    Row("POST", "api/v1/knowledge/documents", "- 422 422 422 422 422"),  # without a file
    Row("GET", API_DOCUMENT, "- 404 200 200 200 404", DOCUMENT),
    Row("GET", API_DOCUMENT, "- 404 404 404 404 404", PRIVATE_DOCUMENT),
    Row("DELETE", API_DOCUMENT, "- 404 403 200 200 404", DOCUMENT),
    Row("DELETE", API_DOCUMENT, "- 404 404 404 404 404", PRIVATE_DOCUMENT),
    Row("GET", f"{DOCUMENT_PAGE}/original/", "- 404 404 404 404 -", DOCUMENT),
    Row("GET", f"{DOCUMENT_PAGE}/original/", "- 404 404 404 404 -", PRIVATE_DOCUMENT),
    Row("POST", f"{DOCUMENT_PAGE}/retry/", "- 404 403 302 302 -", DOCUMENT, {}),
    Row("POST", f"{DOCUMENT_PAGE}/retry/", "- 404 404 404 404 -", PRIVATE_DOCUMENT, {}),
    Row("POST", f"{DOCUMENT_PAGE}/remove/", "- 404 403 302 302 -", DOCUMENT, {}),
    Row("POST", f"{DOCUMENT_PAGE}/remove/", "- 404 404 404 404 -", PRIVATE_DOCUMENT, {}),
    Row("GET", f"{BASE}/documents/", "- 404 302 302 302 -", KNOWLEDGE_BASE),
    Row("GET", f"{BASE}/documents/", "- 404 404 404 404 -", PRIVATE_KNOWLEDGE_BASE),
    # Without a file those who may are sent back and told so
    Row("POST", f"{BASE}/documents/", "- 404 403 302 302 -", KNOWLEDGE_BASE, {}),
    Row("POST", f"{BASE}/documents/", "- 404 404 404 404 -", PRIVATE_KNOWLEDGE_BASE, {}),
    # Pages
    Row("GET", "memory/knowledge/", "- 200 200 200 200 -"),
    Row("GET", "memory/knowledge/new/", "- 200 200 200 200 -"),
    Row("POST", "memory/knowledge/new/", "- 302 403 302 302 -", {}, WRITING),
    Row("GET", "memory/knowledge/bases/new/", "- 200 200 200 200 -"),
    Row("POST", "memory/knowledge/bases/new/", "- 302 403 302 302 -", {}, {"name": "Matrix"}),
    Row("GET", f"{BASE}/name/", "- 404 200 200 200 -", KNOWLEDGE_BASE),
    Row("GET", f"{BASE}/name/", "- 404 404 404 404 -", PRIVATE_KNOWLEDGE_BASE),
    Row("POST", f"{BASE}/name/", "- 404 403 302 302 -", KNOWLEDGE_BASE, {"name": "Renamed"}),
    Row("POST", f"{BASE}/name/", "- 404 404 404 404 -", PRIVATE_KNOWLEDGE_BASE, {"name": "R"}),
    # Without a file everybody is sent back and told so
    Row("POST", "memory/knowledge/import/", "- 302 302 302 302 -", {}, SHARED),
    Row("GET", f"{BASE}/wiki/", "- 404 200 200 200 -", KNOWLEDGE_BASE),
    Row("GET", f"{BASE}/wiki/", "- 404 404 404 404 -", PRIVATE_KNOWLEDGE_BASE),
    Row("POST", f"{BASE}/wiki/", "- 404 200 200 200 -", KNOWLEDGE_BASE, {}),
    Row("POST", f"{BASE}/sources/", "- 404 403 302 302 -", KNOWLEDGE_BASE, {"text": "t"}),
    Row("POST", f"{BASE}/sources/", "- 404 404 404 404 -", PRIVATE_KNOWLEDGE_BASE, {"text": "t"}),
    Row("POST", f"{BASE}/compile/", "- 404 403 302 302 -", KNOWLEDGE_BASE, {}),
    Row("POST", f"{BASE}/compile/", "- 404 404 404 404 -", PRIVATE_KNOWLEDGE_BASE, {}),
    Row("POST", f"{HERE}/compile/", "- 404 403 302 302 -", PAGE, {}),
    Row("POST", f"{HERE}/compile/", "- 404 404 404 404 -", PRIVATE, {}),
    Row("POST", f"{HERE}/link/", "- 404 403 302 302 -", PAGE, {"other": "no page"}),
    Row("POST", f"{HERE}/link/", "- 404 404 404 404 -", PRIVATE, {"other": "no page"}),
    Row("POST", f"{HERE}/merge/", "- 404 403 302 302 -", PAGE, {"other": "no page"}),
    Row("POST", f"{HERE}/merge/", "- 404 404 404 404 -", PRIVATE, {"other": "no page"}),
    Row("GET", "memory/knowledge/<uuid:namespace_id>/", "- 404 200 200 200 -", KNOWLEDGE_BASE),
    Row(
        "GET",
        "memory/knowledge/<uuid:namespace_id>/",
        "- 404 404 404 404 -",
        PRIVATE_KNOWLEDGE_BASE,
    ),
    Row(
        "GET", "memory/knowledge/<uuid:namespace_id>/export/", "- 404 200 200 200 -", KNOWLEDGE_BASE
    ),
    Row(
        "GET",
        "memory/knowledge/<uuid:namespace_id>/export/",
        "- 404 404 404 404 -",
        PRIVATE_KNOWLEDGE_BASE,
    ),
    Row("GET", "memory/namespaces/<uuid:namespace_id>/conversation/", "- 404 404 404 404 -", TALK),
    *(
        Row("GET", f"{HERE}/{part}", f"- 404 {expect} -", place)
        for part in ("", "history/", "file/", "edit/")
        for place, expect in ((PAGE, "200 200 200"), (PRIVATE, "404 404 404"))
    ),
    *(
        Row("POST", f"{HERE}/{part}/", f"- 404 {expect} -", place, body)
        for part, body in (
            ("edit", CHANGED),
            ("confirm", {}),
            ("forget", {}),
            ("restore", {"revision": "1"}),
        )
        for place, expect in ((PAGE, "403 302 302"), (PRIVATE, "404 404 404"))
    ),
]
