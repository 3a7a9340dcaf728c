"""Nodes and edges asked for by their ids, as a tab does that showed them otherwise too soon."""

import json
from typing import Any

import pytest

from tests.factories.workflows import make_workflow
from tests.journeys.canvas_document import document as one_of_everything


pytestmark = pytest.mark.django_db


def parts(person, workflow, *ids: str) -> Any:
    answer = person.client.get(
        f"/workflows/{workflow.pk}/changes/", {"after": workflow.revision, "part": ids}
    )
    assert answer.status_code == 200, answer.content
    return answer.json()["parts"]


def test_node_comes_with_its_edges(alice):
    found = parts(alice, make_workflow(alice), "end")

    assert list(found["nodes"]) == ["end"]
    assert list(found["edges"]) == ["e1"]
    assert 'data-id="end"' in found["nodes"]["end"]
    assert found["gone"] == []


def test_edge_comes_alone_and_what_is_not_there_is_gone(alice):
    found = parts(alice, make_workflow(alice), "e1", "nowhere")

    assert (found["nodes"], list(found["edges"]), found["gone"]) == ({}, ["e1"], ["nowhere"])


def test_container_comes_with_what_lies_in_it(alice):
    found = parts(alice, make_workflow(alice, source=one_of_everything()), "each")

    assert {"each", "inner", "begin"} <= set(found["nodes"])
    assert 'data-parent="each"' in found["nodes"]["inner"]
    assert any('data-from="begin"' in edge for edge in found["edges"].values())


def test_note_comes_as_a_note(alice):
    workflow = make_workflow(alice)
    note = {"id": "n", "x": 1, "y": 2, "width": 200, "height": 80, "data": {"text": "so"}}
    alice.client.patch(
        f"/workflows/{workflow.pk}/draft/",
        json.dumps({"base": workflow.revision, "ops": [{"op": "note", "note": note}]}),
        content_type="application/json",
    )

    assert 'data-kind="note"' in parts(alice, workflow, "n")["nodes"]["n"]


def test_nothing_asked_for_is_not_answered(alice):
    assert parts(alice, make_workflow(alice)) is None


def test_more_than_enough_is_refused(alice):
    workflow = make_workflow(alice)

    answer = alice.client.get(
        f"/workflows/{workflow.pk}/changes/", {"after": 1, "part": [f"n{n}" for n in range(101)]}
    )

    assert answer.status_code == 422
