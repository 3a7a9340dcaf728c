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


OBJECTS: dict[str, Maker] = {"page": _page, "private page": _private_page}

PAGE = {"entry_id": "page"}
PRIVATE = {"entry_id": "private page"}
SHARED = {"namespace": "global:matrix"}
ONE = "api/v1/knowledge/pages/<uuid:entry_id>"

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
]
