"""The draft's history: what each edit changed, from what to what."""

import json
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import make_workflow
from tests.support.cases import for_each
from tests.support.cast import Person
from tests.workflows.views.conftest import text_of
from workflows.execution.kinds import load_kinds
from workflows.models import Workflow
from workflows.views.editor.history.descriptions import MAX_LINES, NodeLabel, describe_edit


NODES = {
    "n1": NodeLabel("Start", "start"),
    "n2": NodeLabel("Say it", "end"),
    "n3": NodeLabel("", "llm"),
}


def edit(person: Person, workflow: Workflow, *ops: dict[str, Any], label: str = "") -> None:
    body = {"base": workflow.revision, "ops": list(ops), "label": label}
    answer = person.client.patch(
        reverse("workflows:draft", args=[workflow.pk]),
        json.dumps(body),
        content_type="application/json",
    )
    assert answer.status_code == 200, answer.content
    workflow.revision = answer.json()["revision"]


def history(person: Person, workflow: Workflow) -> str:
    return unescape(text_of(person.client.get(reverse("workflows:history", args=[workflow.pk]))))


def lines(ops: list[dict[str, Any]], inverse: list[dict[str, Any]]) -> list[Any]:
    found = describe_edit(ops, inverse, NODES, load_kinds())
    return [(line.text, line.before, line.after) for line in found.lines] if found else []


OUTPUT = {"variable": "said", "value_selector": ["n1", "text"]}
MORE = {"variable": "more", "value_selector": ["n3", "text"]}
EDGE = {"id": "e", "source": "n1", "target": "n2", "handle": "source", "target_handle": "target"}


@for_each(
    "op, back, line",
    [
        (
            {"op": "rename", "id": "n1", "title": "Begin"},
            {"op": "rename", "id": "n1", "title": "Start"},
            ("Title", "Start", "Begin"),
        ),
        (
            {"op": "set", "id": "n2", "path": ["outputs"], "value": [OUTPUT, MORE]},
            {"op": "set", "id": "n2", "path": ["outputs"], "value": [OUTPUT]},
            ("Say it › Outputs", "(empty)", "more = LLM › text"),
        ),
        (
            {"op": "set", "id": "n2", "path": ["outputs", 0], "remove": True},
            {"op": "set", "id": "n2", "path": ["outputs", 0], "value": OUTPUT, "insert": True},
            ("Say it › Output 1", "said = Start › text", "(empty)"),
        ),
        (
            {"op": "connect", "edge": EDGE},
            {"op": "disconnect", "id": "e"},
            ("Connected Start → Say it", None, None),
        ),
        (
            {"op": "disconnect", "id": "e"},
            {"op": "connect", "edge": EDGE},
            ("Disconnected Start → Say it", None, None),
        ),
        (
            {"op": "delete", "id": "x"},
            {"op": "add", "node": {"id": "x", "kind": "code", "title": "Count"}},
            ("Deleted Count", None, None),
        ),
        (
            {"op": "reparent", "id": "n2", "parent": "n3", "x": 0, "y": 0},
            {"op": "reparent", "id": "n2", "parent": None, "x": 0, "y": 0},
            ("Moved Say it into LLM", None, None),
        ),
        (
            {
                "op": "variable",
                "area": "environment",
                "name": "key",
                "spec": {"value_type": "secret", "value": None, "rank": 0},
            },
            {"op": "variable", "area": "environment", "name": "key", "spec": None},
            ("Variable key", "(empty)", "(secret)"),
        ),
        (
            {"op": "header", "field": "name", "value": "New"},
            {"op": "header", "field": "name", "value": "Old"},
            ("Name", "Old", "New"),
        ),
    ],
)
def test_operation_is_told_with_titles_and_both_values(op, back, line):
    assert lines([op], [back]) == [line]


def test_field_set_twice_in_one_edit_is_told_from_first_to_last():
    place = {"op": "set", "id": "n3", "path": ["model", "name"]}

    found = lines(
        [{**place, "value": "b"}, {**place, "value": "c"}],
        [{**place, "value": "b"}, {**place, "value": "a"}],
    )

    assert [(before, after) for _text, before, after in found] == [("a", "c")]


def test_moves_are_counted_and_nothing_else_is_said_of_them():
    moves = [{"op": "move", "id": id_, "x": 1, "y": 2} for id_ in ("n1", "n2")]

    assert lines(moves, moves) == [("Moved nodes: 2", None, None)]
    assert describe_edit([], [], NODES, load_kinds()) is None


def test_edit_of_many_things_tells_the_first_of_them():
    adds = [
        {"op": "add", "node": {"id": f"a{n}", "kind": "end", "title": f"E{n}"}}
        for n in range(MAX_LINES + 3)
    ]

    found = describe_edit(adds, [], {}, load_kinds())

    assert found is not None
    assert (len(found.lines), found.more, found.summary) == (
        MAX_LINES,
        3,
        f"Added E0, and {MAX_LINES + 2} more",
    )


@pytest.mark.django_db
def test_history_shows_old_and_new_value_of_a_field(alice: Person, bob: Person):
    workflow = make_workflow(alice)
    edit(alice, workflow, {"op": "rename", "id": "end", "title": "Enough"})
    edit(alice, workflow, {"op": "rename", "id": "end", "title": "<Finish>"}, label="Rename")

    chosen = [{"variable": "said", "value_selector": ["start", "text"]}]
    edit(alice, workflow, {"op": "rename", "id": "start", "title": "Begin"})
    edit(alice, workflow, {"op": "set", "id": "end", "path": ["outputs"], "value": chosen})

    page = history(bob, workflow)

    assert "<Finish> › Outputs: text = Begin › text → said = Begin › text" in page
    assert "Title: Enough → <Finish>" in page
    assert "</span>Enough</del>" in page


@pytest.mark.django_db
def test_history_of_one_and_of_three_edits_asks_as_often(alice: Person, django_assert_num_queries):
    workflow, client = make_workflow(alice), alice.client
    place = reverse("workflows:history", args=[workflow.pk])
    edit(alice, workflow, {"op": "move", "id": "end", "x": 1, "y": 1})
    client.get(place)

    with django_assert_num_queries(16):
        client.get(place)
    edit(alice, workflow, {"op": "move", "id": "end", "x": 2, "y": 1})
    edit(alice, workflow, {"op": "rename", "id": "end", "title": "Z"})
    with django_assert_num_queries(16):
        page = text_of(client.get(place))

    assert ("Moved nodes: 1" in page, "→ Z" in page) == (True, True)


@pytest.mark.django_db
def test_edit_that_holds_too_much_is_named_only(alice: Person, monkeypatch):
    monkeypatch.setattr("workflows.views.editor.history.history.MAX_DESCRIBED_SIZE", 10)
    workflow = make_workflow(alice)
    edit(alice, workflow, {"op": "rename", "id": "end", "title": "Zed"}, label="Another name")

    page = history(alice, workflow)

    assert ("Another name" in page, "Zed" in page) == (True, False)
