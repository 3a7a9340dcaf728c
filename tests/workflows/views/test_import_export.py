"""Documents in and out of the pages."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.factories.workflows import document, make_workflow, within
from tests.support.cases import for_each
from tests.support.cast import Person
from tests.workflows.views.conftest import text_of
from workflows.engine.language.document import Dialect
from workflows.engine.language.dsl import dump_document, load_document
from workflows.engine.language.problems import build_warning
from workflows.models import Workflow
from workflows.samples import SAMPLES, SAMPLES_BY_SLUG
from workflows.services.catalog.importing import read_node_titles
from workflows.services.editor.drafts import load_draft
from workflows.templatetags.problems import describe_with_location


IMPORT = reverse("workflows:import")


def the_only(person: Person) -> Workflow:
    with within(person):
        return Workflow.objects.visible_to(person.principal).get()


def pasted(source: object) -> dict[str, str]:
    return {"document": source if isinstance(source, str) else json.dumps(source)}


def test_document_that_is_pasted_becomes_a_workflow(alice: Person):
    answer = alice.client.post(IMPORT, pasted({**document(), "name": "Pasted"}))

    made = the_only(alice)
    assert answer["Location"] == reverse("workflows:detail", args=[made.pk])
    assert {node.id for node in load_draft(made).nodes} == {"start", "end"}


def test_document_in_a_file_becomes_a_workflow(alice: Person):
    file = SimpleUploadedFile("chat.yml", SAMPLES[0].source.encode())

    answer = alice.client.post(IMPORT, {"file": file})

    assert answer.status_code == 302
    assert (the_only(alice).name, the_only(alice).is_chat) == ("A chatbot that remembers", True)


def test_document_with_problems_shows_all_of_them_and_what_was_pasted(alice: Person):
    source = document()
    source["nodes"] += [{"id": "bare"}, {"data": {"type": "end"}}]

    answer = alice.client.post(IMPORT, pasted(source))

    assert answer.status_code == 422
    page = text_of(answer)
    assert "This document can&#x27;t be read" in page or "This document can't be imported" in page
    assert page.count("<li>") >= 2
    assert "&quot;nodes&quot;" in page
    with within(alice):
        assert not Workflow.objects.visible_to(alice.principal).exists()


@pytest.mark.parametrize(
    "text", ["{", "a: b: c", "- just\n- a list", "\x00", "!!python/object:os x"]
)
def test_text_that_is_no_document_is_refused_with_a_reason(alice: Person, text: str):
    answer = alice.client.post(IMPORT, pasted(text))

    assert answer.status_code == 422
    assert 'role="alert"' in text_of(answer) or "errorlist" in text_of(answer)


def test_nothing_pasted_asks_for_something(alice: Person):
    answer = alice.client.post(IMPORT, {})

    assert answer.status_code == 422
    assert "Paste a document or select a file." in text_of(answer)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "The file is empty."),
        (b"\xff\xfe name", "The file is not UTF-8 text."),
        (b"nodes: [1", "Invalid YAML: did not find expected"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_name(
    alice: Person, content: bytes, reason: str
):
    answer = alice.client.post(IMPORT, {"file": SimpleUploadedFile("weather.yml", content)})

    assert answer.status_code == 422
    page = text_of(answer)
    assert "weather.yml can't be imported" in page
    assert reason in page


def test_import_page_has_an_area_to_drop_files_on(alice: Person):
    page = text_of(alice.client.get(IMPORT))

    area = page[page.index("data-drop") :]
    assert 'type="file"' in area[: area.index("</label>")]
    assert "Select files, or drop them here" in page


def test_document_of_a_newer_version_waits_for_a_yes(alice: Person):
    newer = pasted(SAMPLES[0].source.replace("version: 0.6.0", "version: 9.0.0", 1))

    asked = alice.client.post(IMPORT, newer)

    assert "Import anyway" in text_of(asked)
    assert 'name="confirm"' in text_of(asked)
    with within(alice):
        assert not Workflow.objects.visible_to(alice.principal).exists()
    assert alice.client.post(IMPORT, {**newer, "confirm": "yes"}).status_code == 302
    assert len(load_draft(the_only(alice)).nodes) == 5


def test_what_is_not_understood_is_said_after_the_import(alice: Person):
    source = document()
    source["nodes"].insert(1, {"id": "new", "data": {"type": "quantum-sort"}})

    page = text_of(alice.client.post(IMPORT, pasted(source), follow=True))

    assert "quantum-sort" in page


def test_replaced_draft_keeps_its_name_and_its_address(bob: Person):
    workflow = make_workflow(bob, "Mine")

    answer = bob.client.post(
        reverse("workflows:replace", args=[workflow.pk]), pasted(SAMPLES_BY_SLUG["exchange"].source)
    )

    assert answer["Location"] == reverse("workflows:detail", args=[workflow.pk])
    after = the_only(bob)
    assert (after.pk, after.name, after.revision) == (workflow.pk, "Mine", workflow.revision + 1)
    assert "recall_context" in {node.id for node in load_draft(after).nodes}


# How a document is written in a format doesn't depend on the dialect: by night each sample is written in both of both, by
# day the samples take turns with the four ways, and the test after this one writes each in each dialect without the site.
FORMATS = (("dify", "yaml"), ("dify", "json"), ("xworkflow", "yaml"), ("xworkflow", "json"))


def list_exports() -> Iterator[Any]:
    """By day each format once: that every sample comes back from its text is tested below, without pages."""
    for turn, sample in enumerate(SAMPLES):
        for number, (dialect, format_) in enumerate(FORMATS):
            marks = () if number == turn else pytest.mark.nightly
            name = f"{sample.slug}-{dialect}-{format_}"
            yield pytest.param(sample, dialect, format_, marks=marks, id=name)


@pytest.mark.parametrize(("sample", "dialect", "format_"), [*list_exports()])
def test_export_imported_again_is_the_same_workflow(
    alice: Person, sample, dialect: str, format_: str
):
    first = make_workflow(alice, "Round trip", sample.source)
    address = reverse("workflows:export", args=[first.pk])

    export = alice.client.get(address, {"dialect": dialect, "format": format_})
    text = text_of(export)
    alice.client.post(IMPORT, pasted(text))
    with within(alice):
        second = Workflow.objects.visible_to(alice.principal).exclude(pk=first.pk).get()
    again = alice.client.get(
        reverse("workflows:export", args=[second.pk]), {"dialect": dialect, "format": format_}
    )

    extension = {"yaml": "yml", "json": "json"}[format_]
    assert export["Content-Disposition"] == f'attachment; filename="round-trip.{extension}"'
    assert export["Content-Type"] == f"application/{format_}; charset=utf-8"
    before, after = load_draft(first), load_draft(second)
    assert [(n.id, n.kind, n.data) for n in after.nodes] == [
        (n.id, n.kind, n.data) for n in before.nodes
    ]
    assert {(e.source, e.handle, e.target) for e in after.edges} == {
        (e.source, e.handle, e.target) for e in before.edges
    }
    assert text_of(again).replace(second.name, "") == text.replace("Round trip", "").replace(
        second.name, ""
    )


@for_each("dialect", Dialect)
@for_each("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_sample_comes_back_from_each_dialect(sample, dialect: Dialect):
    before = load_document(sample.source).document

    after = load_document(dump_document(before, dialect)).document

    assert [(n.id, n.kind, n.data) for n in after.nodes] == [
        (n.id, n.kind, n.data) for n in before.nodes
    ]
    assert {(e.source, e.handle, e.target) for e in after.edges} == {
        (e.source, e.handle, e.target) for e in before.edges
    }


@pytest.mark.parametrize("asked", [{"dialect": "nonsense"}, {"format": "exe"}, {}])
def test_export_of_what_there_is_none_of_is_the_workflows_own(alice: Person, asked: dict[str, str]):
    workflow = make_workflow(alice, "工作流")
    address = reverse("workflows:export", args=[workflow.pk])

    answer = alice.client.get(address, asked)

    assert text_of(answer) == text_of(alice.client.get(address, {"dialect": "xworkflow"}))
    assert answer["Content-Disposition"] == 'attachment; filename="workflow.yml"'


def test_export_never_holds_a_secret_variable(alice: Person):
    secret = {"name": "KEY", "value_type": "secret", "value": "canary-5e3c"}
    workflow = make_workflow(alice, source=document() | {"environment_variables": [secret]})

    texts = [
        text_of(
            alice.client.get(
                reverse("workflows:export", args=[workflow.pk]),
                {"dialect": dialect, "format": format_, "include_secrets": "true"},
            )
        )
        for dialect in ("dify", "xworkflow")
        for format_ in ("yaml", "json")
    ]

    assert ["KEY" in text for text in texts] == [True] * 4
    assert ["canary-5e3c" in text for text in texts] == [False] * 4


def test_problems_of_an_import_name_nodes_by_their_titles(alice: Person):
    source = document("Ask politely")
    source["nodes"][0]["id"] = "x" * 300

    refused = text_of(alice.client.post(IMPORT, pasted(source)))

    assert "Ask politely: An ID or name can have at most" in refused
    source["nodes"][0]["id"] = "start"
    titles = read_node_titles(json.dumps(source))
    problem = build_warning("edge.ends", "node start is left out", node="start", field="outputs.0")
    assert (
        describe_with_location(problem, titles)
        == "Ask politely, outputs.0: node Ask politely is left out"
    )
    assert describe_with_location(problem, {}).startswith("node start, outputs.0: ")
    assert read_node_titles("[1") == {}
