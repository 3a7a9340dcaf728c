"""Files that are imported: several at once, and files that are documents or pictures instead of workflows."""

import json
import re
from html import unescape
from typing import Any

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.engine.import_report.documents import FORECAST
from tests.factories.workflows import document, make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.sandbox.documents.made import make_docx
from tests.workflows.views.catalog.test_import_report import LLM, build_source
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import Workflow
from workflows.services.catalog import importing


pytestmark = pytest.mark.django_db

PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n"
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 32


def read(answer: Any) -> str:
    main = text_of(answer).split("<main")[1].split("</main>")[0]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", main)))


def upload(person: Person, *files: tuple[str, bytes], **fields: Any) -> Any:
    uploads = [SimpleUploadedFile(name, content) for name, content in files]
    return person.client.post(reverse("workflows:import"), {"file": uploads, **fields})


def list_names(person: Person) -> list[str]:
    with within(person):
        rows = Workflow.objects.visible_to(person.principal).order_by("created_at")
        return [workflow.name for workflow in rows]


def test_several_files_are_imported_and_listed_with_their_reports(alice: Person) -> None:
    named = {**build_source(m=LLM, t=FORECAST), "meta": {"name": "Weather"}}

    answer = upload(
        alice,
        ("one.json", json.dumps(document()).encode()),
        ("two.yml", yaml.safe_dump(named).encode()),
        ("broken.yml", b"nodes: [1"),
        ("scan.pdf", PDF),
        ("empty.yml", b""),
        too_large=["film.mp4", "huge.yml"],
    )

    page = read(answer)
    assert "2 of 7 files imported" in page
    assert "All 4 nodes open · 1 needs a model · 1 can't run yet" in page
    assert "scan.pdf is a PDF document, not a workflow." in page
    assert "film.mp4 is a recording, not a workflow." in page
    assert "huge.yml The document can be at most 1 MB." in page
    assert "empty.yml The file is empty." in page
    broken = page.split("broken.yml")[1].split("Not imported")[0]
    assert "line" in broken or "YAML" in broken
    assert len(list_names(alice)) == 2
    assert text_of(answer).count("/report/") == 2


def test_refused_file_is_read_once_for_all_its_problems(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = document()
    variables = [{"name": name * 1000, "value": "x"} for name in ("A", "B")]
    calls: list[int] = []
    read_titles = importing.read_node_titles

    def count(source: importing.Source) -> dict[str, str]:
        calls.append(1)
        return read_titles(source)

    monkeypatch.setattr(importing, "read_node_titles", count)

    source = json.dumps({**tree, "environment_variables": variables})
    page = read(upload(alice, ("overlong.json", source.encode())))

    assert "AAA: An ID or name can have at most 255 characters" in page
    assert "BBB: An ID or name can have at most 255 characters" in page
    assert calls == [1]


def test_list_counts_nodes_with_an_error_as_the_report_does(alice: Person) -> None:
    condition = {"comparison_operator": "is", "value": "x"}
    branch = {"type": "if-else", "cases": [{"case_id": "true", "conditions": [condition]}]}
    half_made = build_source(branch=branch)
    files = [(f"{name}.json", json.dumps(half_made).encode()) for name in ("one", "two")]

    page = read(upload(alice, *files))

    assert page.count("All 3 nodes open · 1 can't run yet") == 2


@pytest.mark.parametrize(
    ("name", "content", "sentence", "is_readable"),
    [
        ("manual.pdf", PDF, "manual.pdf is a PDF document, not a workflow.", True),
        ("letter.docx", make_docx("Dear reader"), "letter.docx is a text document", True),
        ("prices.csv", b"a,b\n1,2\n", "prices.csv is a table", True),
        ("notes.md", b"# Notes\n- one\n", "notes.md is a text document", True),
        ("photo.png", PNG, "photo.png is an image", False),
        # By what it is, not by its name.
        ("flow.yml", PDF, "flow.yml is a PDF document", True),
    ],
)
def test_document_is_told_from_a_workflow(
    alice: Person, name: str, content: bytes, sentence: str, is_readable: bool
) -> None:
    answer = upload(alice, (name, content))

    page = read(answer)
    assert answer.status_code == 422
    assert sentence in page
    assert ("Add it to a knowledge base" in page) is is_readable
    assert "Give it to a workflow that has a field for files" in page
    assert "can't be imported" not in page
    assert list_names(alice) == []


def test_workflows_with_a_field_for_files_are_offered_for_a_document(cast: Cast) -> None:
    make_workflow(cast.alice, "Reader", source=document("R", type="file"))
    make_workflow(cast.alice, "Plain")
    make_workflow(cast.carol, "Hers", source=document("R", type="file"))

    page = read(upload(cast.alice, ("manual.pdf", PDF)))

    assert "that has a field for files: Reader" in page
    assert "Plain" not in page
    assert "Hers" not in page


def test_workflow_is_imported_whatever_its_file_is_called(alice: Person) -> None:
    answer = upload(alice, ("flow.txt", yaml.safe_dump(document()).encode()))

    assert answer.status_code == 302
    assert len(list_names(alice)) == 1


def test_file_too_large_to_be_sent_is_described_by_its_name(alice: Person) -> None:
    url = reverse("workflows:import")

    page = read(alice.client.get(url, {"other": "<b>.xlsx"}))
    fragment = alice.client.get(url, {"other": "clip.mp3"}, headers=HTMX).content.decode()
    unknown = read(alice.client.get(url, {"other": "archive.zip"}))

    assert "<b>.xlsx is a table, not a workflow." in page
    assert "clip.mp3 is a recording, not a workflow." in fragment
    assert "<html" not in fragment
    assert "archive.zip is not a workflow. Workflows are YAML or JSON files." in unknown


def test_draft_is_not_replaced_by_a_document(alice: Person) -> None:
    workflow = make_workflow(alice)

    answer = alice.client.post(
        reverse("workflows:replace", args=[workflow.pk]),
        {"file": SimpleUploadedFile("manual.pdf", PDF)},
    )

    assert answer.status_code == 422
    assert "manual.pdf is a PDF document, not a workflow." in read(answer)
