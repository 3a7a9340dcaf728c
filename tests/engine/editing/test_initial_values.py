"""A new node works as soon as it is added: it has the person's message and the memories of the node before it."""

from dataclasses import replace
from typing import Any

import pytest

from tests.engine.editing.gestures import context
from workflows.engine.editing import InMemoryStore, perform, read_ops
from workflows.engine.editing.ops import Add
from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.tools.builtin import BUILTIN_TOOLS


QUERY = ["sys", "query"]
FORM = {"variables": [
    {"variable": "count", "type": "number"},
    {"variable": "question", "type": "paragraph"},
]}  # fmt: skip


def build_store(mode: Mode = Mode.CHAT, **start: Any) -> InMemoryStore:
    return InMemoryStore(Document(mode, (NodeSpec("start", "start", start),), ()))


def add(store: InMemoryStore, kind: str, *, after: str = "start", **data: Any) -> dict[str, Any]:
    ops = [
        {"op": "add", "node": {"id": kind.replace("-", "_"), "kind": kind, "x": 0, "y": 0, "data": data}},
        {"op": "connect", "edge": {"source": after, "handle": "source", "target": kind.replace("-", "_")}},
    ]  # fmt: skip
    done = perform(store, read_ops(ops), context("fresh"))
    return dict(next(op.item.data for op in done.ops if isinstance(op, Add)))


def test_chat_of_five_nodes_with_defaults_alone_has_no_problems() -> None:
    store = build_store()

    recall = add(store, "memory-recall")
    llm = add(store, "llm", after="memory_recall")
    answer = add(store, "answer", after="llm")
    remember = add(store, "memory-store", after="answer")

    assert (recall["scope"], recall["query_selector"]) == ("user", QUERY)
    assert "{{#memory_recall.text#}}" in llm["prompt_template"][0]["text"]
    assert llm["prompt_template"][1] == {"role": "user", "text": "{{#sys.query#}}"}
    assert answer["answer"] == "{{#llm.text#}}"
    assert {name: remember[name] for name in ("scope", "source", "value_selector")} == {
        "scope": "user",
        "source": "facts",
        "value_selector": QUERY,
    }
    assert [*validate(store.build_document(), build_kinds())] == []


@pytest.mark.parametrize(
    ("start", "selector"), [(FORM, ["start", "question"]), ({"variables": []}, None)]
)
def test_in_a_workflow_the_first_text_of_the_form_is_the_message(
    start: dict[str, Any], selector: list[str] | None
) -> None:
    recall = add(build_store(Mode.WORKFLOW, **start), "memory-recall")

    assert recall.get("query_selector") == selector


def test_model_without_memory_stores_nothing_about_memory() -> None:
    data = add(build_store(Mode.WORKFLOW, **FORM), "llm")

    assert not {"enhanced_memory", "memory", "vision", "context"} & data.keys()


def test_model_in_a_chat_reads_the_earlier_messages_of_the_conversation() -> None:
    data = add(build_store(), "llm")

    assert data["memory"] == {"enabled": True}
    assert not {"enhanced_memory", "vision", "context"} & data.keys()


@pytest.mark.parametrize(
    ("mode", "start", "query"),
    [
        (Mode.CHAT, {}, "{{#sys.query#}}"),
        (Mode.WORKFLOW, FORM, "{{#start.question#}}"),
    ],
)
def test_new_agent_has_an_instruction_memory_and_two_tools_and_no_problems(
    mode: Mode, start: dict[str, Any], query: str
) -> None:
    store = build_store(mode, **start)

    data = add(store, "agent")
    last = "answer" if mode is Mode.CHAT else "end"
    add(store, last, after="agent")

    assert data["instruction"]
    assert data["query"] == query
    assert data["memory_tools"] == {"recall": ["user"], "remember": ["user"]}
    names = [tool["name"] for tool in data["tools"]]
    assert len(names) == 2
    assert set(names) <= {tool.spec.name for tool in BUILTIN_TOOLS}
    assert ("memory" in data) is (mode is Mode.CHAT)
    assert [*validate(store.build_document(), build_kinds())] == []


def test_new_agent_behind_a_recall_has_what_was_recalled() -> None:
    store = build_store()
    add(store, "memory-recall")

    data = add(store, "agent", after="memory_recall")

    assert data["instruction"].endswith("\n{{#memory_recall.text#}}")


def test_new_agent_without_memory_here_has_no_tools_of_memory() -> None:
    kinds = build_kinds(memory=False)
    ops = [{"op": "add", "node": {"id": "agent", "kind": "agent", "x": 0, "y": 0, "data": {}}}]

    done = perform(build_store(), read_ops(ops), replace(context("fresh"), kinds=kinds))

    [data] = [op.item.data for op in done.ops if isinstance(op, Add)]
    assert "memory_tools" not in data
    assert len(data["tools"]) == 2


def test_what_was_chosen_stays() -> None:
    store = build_store()

    recall = add(store, "memory-recall", scope="conversation", query_selector=[])
    whole = add(store, "memory-store", type="memory-store", scope="user", key="k")

    assert (recall["scope"], recall["query_selector"]) == ("conversation", [])
    # A node that comes back, such as one whose deletion is undone, is what it was.
    assert "source" not in whole
