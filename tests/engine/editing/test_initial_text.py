"""A node added behind a model begins with what the model says, unless somebody said otherwise."""

import pytest

from tests.engine.editing.gestures import context
from workflows.engine.editing import InMemoryStore, perform, read_ops
from workflows.engine.editing.apply import apply_all
from workflows.engine.editing.ops import Add
from workflows.engine.language.document import Document, Mode, NodeSpec


def added(kind, *, behind="llm", handle="source", **data):
    store = InMemoryStore(Document(Mode.CHAT, (NodeSpec("before", behind, {}),), ()))
    ops = [
        {"op": "add", "node": {"id": "new", "kind": kind, "x": 0, "y": 0, "data": data}},
        {"op": "connect", "edge": {"source": "before", "handle": handle, "target": "new"}},
    ]
    done = perform(store, read_ops(ops), context("fresh"))
    return next(op.item.data for op in done.ops if isinstance(op, Add))


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("answer", "answer", "{{#before.text#}}"),
        ("end", "outputs", [{"variable": "text", "value_selector": ["before", "text"]}]),
        ("template-transform", "template", "{{ text }}"),
    ],
)
def test_node_behind_a_model_begins_with_its_text(kind, name, expected):
    assert added(kind)[name] == expected


def test_what_was_written_stays():
    assert added("answer", answer="")["answer"] == ""


@pytest.mark.parametrize(
    ("behind", "handle", "expected"),
    [
        ("start", "source", "{{#sys.query#}}"),
        ("code", "source", "{{#sys.query#}}"),  # without outputs
        ("llm", "fail-branch", "{{#before.error_message#}}"),
    ],
)
def test_node_behind_something_else_begins_with_the_error_or_the_message(behind, handle, expected):
    assert added("answer", behind=behind, handle=handle)["answer"] == expected


def connected_later(kind, *, by=None, data=None, mode=Mode.CHAT):
    """Return the data of a node of the kind that is added by itself, filled in, and connected with a model afterwards."""
    nodes = (NodeSpec("start", "start", {}), NodeSpec("llm", "llm", {}))
    store = InMemoryStore(Document(mode, nodes, ()))
    later = context("fresh")
    add = {"op": "add", "node": {"id": "new", "kind": kind, "x": 0, "y": 0}}
    perform(store, read_ops([add]), later)
    for name, value in (data or {}).items():
        set_ = {"op": "set", "id": "new", "path": [name], "value": value}
        perform(store, read_ops([set_]), later)
    for source in [by, "llm"] if by else ["llm"]:
        edge = {"source": source, "handle": "source", "target": "new"}
        done = perform(store, read_ops([{"op": "connect", "edge": edge}]), later)
    return store, done


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("answer", "answer", "{{#llm.text#}}"),
        ("template-transform", "template", "{{ text }}"),
        (
            "template-transform",
            "variables",
            [{"variable": "text", "value_selector": ["llm", "text"]}],
        ),
    ],
)
def test_node_that_is_connected_afterwards_says_what_the_model_says(kind, name, expected):
    store, _done = connected_later(kind)

    assert store.get_item("new").data[name] == expected


def test_node_between_the_start_and_its_new_model_says_what_the_model_says():
    store, _done = connected_later("answer", by="start")

    assert store.get_item("new").data["answer"] == "{{#llm.text#}}"


@pytest.mark.parametrize("text", ["", "Thank you", "{{#sys.query#}}!"])
def test_connecting_keeps_what_somebody_wrote(text):
    store, _done = connected_later("answer", data={"answer": text})

    assert store.get_item("new").data["answer"] == text


def test_what_connecting_filled_in_is_undone_with_the_edge():
    store, done = connected_later("answer")

    apply_all(store, done.inverse)

    assert store.get_item("new").data["answer"] == "{{#sys.query#}}"
    assert not store.list_node_edges("new")


def test_second_connection_keeps_what_the_node_reads():
    store, _done = connected_later("answer")
    add = {"op": "add", "node": {"id": "other", "kind": "llm", "x": 0, "y": 0}}
    edge = {"source": "other", "handle": "source", "target": "new"}

    perform(store, read_ops([add, {"op": "connect", "edge": edge}]), context("more"))

    assert store.get_item("new").data["answer"] == "{{#llm.text#}}"
