"""Text for the clipboard, a note as it was written, and the whole as a picture."""

import json
from typing import Any
from xml.dom import minidom

import pytest
from django.urls import reverse

from tests.factories.workflows import make_workflow
from tests.support.cases import for_each
from tests.support.cast import Person
from tests.workflows.views.conftest import text_of
from workflows.engine.editing.decode import read_ops
from workflows.engine.editing.paste import read_fragment
from workflows.engine.language.dsl import load_document
from workflows.execution.kinds import load_kinds
from workflows.models import Workflow
from workflows.samples import SAMPLES_BY_SLUG
from workflows.services.editing import gestures
from workflows.services.editor.drafts import load_draft
from workflows.views.canvas.picture import build_picture
from workflows.views.editor.export import build_fragment


def place(name: str, workflow: Workflow) -> str:
    return reverse(f"workflows:{name}", args=[workflow.pk])


def paste(person: Person, workflow: Workflow, text: str) -> None:
    ops = read_ops([{"op": "paste", "text": text, "x": 0, "y": 0}])
    gestures.edit(person.principal, workflow=workflow, ops=ops)


@pytest.mark.parametrize("format_", ["yaml", "json"])
def test_copied_text_pastes_into_another_workflow(alice: Person, chat: Workflow, format_: str):
    other = make_workflow(alice, "Other")

    text = text_of(
        alice.client.get(place("copy", chat), {"id": ["recall", "llm"], "format": format_})
    )
    paste(alice, other, text)

    document = load_draft(other)
    titles = {node.title for node in document.nodes}
    assert titles >= {"Recall", "Generate answer"}
    pasted = {n.id: n.title for n in document.nodes}
    assert ("Recall", "Generate answer") in {
        (pasted[e.source], pasted[e.target]) for e in document.edges
    }


def test_copy_holds_nothing_but_what_was_chosen(chat: Workflow, alice: Person):
    document = load_draft(chat)

    tree = build_fragment(document, ["recall"])

    assert [node["id"] for node in tree["nodes"]] == ["recall"]
    assert tree["edges"] == []
    assert set(tree) == {"nodes", "edges"}


def test_copy_of_a_container_brings_its_inside_along(alice: Person):
    workflow = make_workflow(alice)
    add = {"op": "add", "node": {"id": "box", "kind": "loop", "x": 0, "y": 0}}
    inner = {"op": "add", "node": {"id": "in", "kind": "llm", "parent": "box", "x": 90, "y": 90}}
    gestures.edit(alice.principal, workflow=workflow, ops=read_ops([add, inner]))

    fragment = read_fragment(json.dumps(build_fragment(load_draft(workflow), ["box"])))

    assert {(node.id, node.parent) for node in fragment.nodes} == {
        ("box", None),
        ("boxstart", "box"),
        ("in", "box"),
    }


def test_copy_brings_the_variables_its_nodes_speak_of():
    source: dict[str, Any] = {
        "version": "0.1.0",
        "nodes": [
            {"id": "a", "data": {"type": "answer", "answer": "{{#conversation.seen#}}"}},
            {"id": "b", "data": {"type": "answer", "answer": "plain"}},
        ],
        "edges": [],
        "conversation_variables": [
            {"name": "seen", "type": "string", "default": ""},
            {"name": "other", "type": "string", "default": ""},
        ],
        "environment_variables": [{"name": "KEY", "value": "s3cret", "value_type": "secret"}],
    }
    document = load_document(source).document

    speaks, silent = build_fragment(document, ["a"]), build_fragment(document, ["b"])

    assert [v["name"] for v in speaks["conversation_variables"]] == ["seen"]
    assert "conversation_variables" not in silent
    assert "s3cret" not in json.dumps([speaks, silent])


def test_note_comes_back_as_it_was_written(alice: Person, chat: Workflow):
    text = "# Why\n\n- <b>not bold</b> & such"
    note = {"id": "n1", "x": 0, "y": 0, "data": {"text": text, "theme": "pink"}}
    gestures.edit(alice.principal, workflow=chat, ops=read_ops([{"op": "note", "note": note}]))

    answer = alice.client.get(place("note", chat), {"id": "n1"})

    assert answer.json() == {"text": text, "theme": "pink"}
    assert alice.client.get(place("note", chat), {"id": "llm"}).status_code == 404


def test_picture_is_one_file_with_every_node_and_edge(alice: Person, chat: Workflow):
    answer = alice.client.get(place("picture", chat))
    text = text_of(answer)

    svg = minidom.parseString(text)
    titles = {t.firstChild.nodeValue for t in svg.getElementsByTagName("text") if t.firstChild}
    document = load_draft(chat)
    assert answer["Content-Type"].startswith("image/svg+xml")
    assert titles >= {node.title for node in document.nodes}
    paths = [p for p in svg.getElementsByTagName("path") if p.getAttribute("class") == "edge"]
    assert len(paths) == len(document.edges)
    assert "href" not in text
    assert "<script" not in text


def test_picture_says_what_is_written_and_runs_none_of_it(alice: Person):
    workflow = make_workflow(alice, "<script>alert(1)</script>")
    rename = {"op": "rename", "id": "end", "title": "</text><script>x</script>"}
    gestures.edit(alice.principal, workflow=workflow, ops=read_ops([rename]))

    text = text_of(alice.client.get(place("picture", workflow)))

    assert "<script" not in text
    minidom.parseString(text)


@for_each("slug", list(SAMPLES_BY_SLUG))
def test_picture_of_every_sample_holds_its_nodes_inside_the_frame(slug: str):
    document = load_document(SAMPLES_BY_SLUG[slug].source).document

    picture = build_picture(document, load_kinds())

    left, top, width, height = map(float, picture.view_box.split())
    for card in picture.cards:
        assert left < float(card.x) < left + width
        assert top < float(card.y) < top + height
    assert len(picture.cards) == len(document.nodes)
