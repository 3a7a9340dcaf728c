"""What is sent and is larger than it may be is 413 at every door: files, texts and values, of the API and of pages."""

import io
import zipfile
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memory.services.transfer import import_check, page_archive
from memory.views import transfer
from memory.views.knowledge import importing
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, Person
from workflows import forms
from workflows.engine.language.dsl import limits
from workflows.services.data_sets import cases, files
from workflows.services.data_sets.data_sets import save_data_set
from workflows.services.debugging import pins
from workflows.tools.openapi import documents
from workflows.views.runs import options
from workflows.views.tools import forms as tool_forms


pytestmark = pytest.mark.django_db

API = "/api/v1"
FEW = 100  # characters or bytes, instead of the megabytes that are allowed
MUCH = "x" * 1000
HTMX = {"HX-Request": "true"}

Sent = tuple[str, dict[str, Any]]  # the address, and what is sent to it


def lower_limits(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.FILE_DOCUMENT_MB = settings.FILE_IMAGE_MB = 0
    for module, name in (
        *((module, "MAX_BYTES") for module in (import_check, transfer, files, documents)),
        *((module, "MAX_ARCHIVE_BYTES") for module in (page_archive, importing)),
        (cases, "MAX_TEXT"), (pins, "MAX_PIN_LENGTH"), (options, "MAX_LENGTH"),
        (limits, "MAX_BYTES"), (forms, "MAX_DOCUMENT_BYTES"), (tool_forms, "MAX_BYTES"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, FEW)


def pack(text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("page.md", text)
    return packed.getvalue()


def make_data_set(person: Person) -> str:
    return str(save_data_set(person.principal, team_id=person.team.pk, name="Cases").pk)


def file(name: str = "file.txt", content: bytes = MUCH.encode()) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


API_DOORS: dict[str, Callable[[Cast], Sent]] = {
    "memory": lambda cast: ("memory/import", {"file": MUCH}),
    "archive of pages": lambda cast: (
        "knowledge/import",
        {"namespace": "global:a", "archive": b64encode(pack(MUCH)).decode()},
    ),
    "workflow": lambda cast: ("workflows", {"document": f"a: {MUCH}"}),
    "cases": lambda cast: (
        f"data-sets/{make_data_set(cast.alice)}/import",
        {"text": f"query\n{MUCH}\n", "format": "csv"},
    ),
    "case": lambda cast: (
        f"data-sets/{make_data_set(cast.alice)}/cases",
        {"cases": [{"query": MUCH}]},
    ),
    "description of an API": lambda cast: (
        "tools/connections",
        {"kind": "openapi", "name": "Shop", "document": MUCH},
    ),
}


@pytest.mark.parametrize("door", API_DOORS)
def test_api_answers_413_to_what_is_too_large(
    cast: Cast,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    door: str,
) -> None:
    address, body = API_DOORS[door](cast)
    lower_limits(monkeypatch, settings)

    answer = cast.alice.client.post(f"{API}/{address}", body, "application/json")

    error = answer.json()["error"]
    assert (answer.status_code, error["retryable"], "arge" in error["type"]) == (413, False, True)


def test_api_answers_413_to_a_document_that_is_too_large(cast: Cast, settings: Any) -> None:
    settings.FILE_DOCUMENT_MB = 0
    body = {"file": file(), "namespace": "global:a"}

    answer = cast.alice.client.post(f"{API}/knowledge/documents", body)

    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "ValueTooLarge")


PAGES: dict[str, Callable[[Cast], Sent]] = {
    "memory": lambda cast: (
        "/memory/exchange/",
        {"file": file("memory.jsonl"), "on_conflict": "newer"},
    ),
    "files of pages": lambda cast: (
        "/memory/knowledge/import/",
        {"namespace": "global:a", "files": file("a.md")},
    ),
    "archive of pages": lambda cast: (
        "/memory/knowledge/import/?dry_run=1",
        {"namespace": "global:a", "files": file("a.zip", pack(MUCH))},
    ),
    "file of a workflow": lambda cast: ("/workflows/import/", {"file": file("a.yml")}),
    "text of a workflow": lambda cast: ("/workflows/import/", {"document": f"a: {MUCH}"}),
    "file of cases": lambda cast: (
        f"/data-sets/{make_data_set(cast.alice)}/cases/import/",
        {"file": file("cases.csv")},
    ),
    "text of cases": lambda cast: (
        f"/data-sets/{make_data_set(cast.alice)}/cases/import/",
        {"text": f"query\n{MUCH}\n"},
    ),
    "file of an API": lambda cast: ("/tools/connect/openapi/", {"name": "A", "file": file()}),
    "text of an API": lambda cast: ("/tools/connect/openapi/", {"name": "A", "document": MUCH}),
    "pinned output": lambda cast: (
        f"/workflows/{make_workflow(cast.alice).pk}/nodes/start/pin/",
        {"outputs": f'{{"text": "{MUCH}"}}'},
    ),
    "options of a run": lambda cast: (
        f"/workflows/{make_workflow(cast.alice).pk}/start/",
        {"text": "hello", "debug": MUCH},
    ),
}  # fmt: skip


@pytest.mark.parametrize("door", PAGES)
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
def test_page_answers_413_to_what_is_too_large_and_says_so(
    cast: Cast,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    headers: dict[str, str],
    door: str,
) -> None:
    address, form = PAGES[door](cast)
    lower_limits(monkeypatch, settings)

    answer = cast.alice.client.post(address, form, headers=headers)

    assert answer.status_code == 413
    assert any(word in answer.content.decode() for word in ("large", "at most"))
