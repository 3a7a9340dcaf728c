"""A window on the turns of a conversation says that it adds nothing where there is no conversation."""

from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.documents import answer, document, end, llm, node, start
from workflows.engine.language.document import Document, Mode, NodeSpec
from workflows.engine.language.validation import validate, validate_node
from workflows.engine.language.validation.configuration import WINDOW_VARIABLE_FIELD
from workflows.engine.nodes import build_kinds


MODEL = {"provider": "offline", "name": "offline", "mode": "chat"}
WINDOW = {"enabled": True, "window_size": 5}
SELECTOR = {**WINDOW, "variable_selector": ["start", "history"]}


def asking(kind: str, **data: Any) -> NodeSpec:
    match kind:
        case "llm":
            return llm("x", ("user", "Hi"), **data)
        case "agent":
            return node("x", "agent", model=MODEL, query="Hi", **data)
        case "question-classifier":
            classes = [{"id": "1", "name": "a"}]
            return node("x", kind, model=MODEL, query_variable_selector=["start", "history"],
                        classes=classes, **data)  # fmt: skip
        case _:
            return node("x", kind, model=MODEL, query=["start", "history"],
                        parameters=[{"name": "n", "type": "string"}], **data)  # fmt: skip


def build(spec: NodeSpec, mode: Mode = Mode.WORKFLOW) -> Document:
    last = answer("last", "{{#x.text#}}") if mode is Mode.CHAT else end("last", text=["x", "text"])
    return document([start("history"), spec, last], ["start -> x", "x -> last"], mode=mode)


def list_window_problems(made: Document) -> list[Any]:
    return [p for p in validate(made, build_kinds()) if p.code == "memory.no_turns"]


@pytest.mark.parametrize("kind", ["llm", "agent", "question-classifier", "parameter-extractor"])
def test_window_without_a_variable_adds_nothing_in_a_workflow(kind: str):
    made = build(asking(kind, memory=WINDOW))

    (problem,) = list_window_problems(made)

    assert (problem.node, problem.field) == ("x", WINDOW_VARIABLE_FIELD)
    assert not problem.is_error
    assert problem.message.startswith("The conversation memory window adds nothing")
    assert problem in validate_node(made, build_kinds(), "x")


@for_each(
    "mode, memory",
    [
        (Mode.CHAT, WINDOW),
        (Mode.WORKFLOW, SELECTOR),
        (Mode.WORKFLOW, {**WINDOW, "enabled": False}),
        (Mode.WORKFLOW, None),
    ],
)
@for_each("kind", ["llm", "agent"])
def test_window_that_adds_messages_or_is_off_is_no_problem(kind: str, mode: Mode, memory: Any):
    assert list_window_problems(build(asking(kind, memory=memory), mode)) == []
