"""A node added behind a model begins with what the model says, unless somebody said otherwise."""

import pytest

from tests.engine.editing.gestures import context
from workflows.engine.editing import InMemoryStore, perform, read_ops
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
