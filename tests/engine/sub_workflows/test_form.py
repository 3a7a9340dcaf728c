"""What a call of another workflow passes at first."""

from typing import Any

import pytest

from tests.support.documents import document, end, node
from workflows.engine.language.document import Document, Mode
from workflows.engine.sub_workflows.form import list_callable_inputs, suggest_values


def build(*variables: dict[str, Any], mode: Mode = Mode.WORKFLOW) -> Document:
    start = node("start", "start", variables=list(variables))
    last = node("answer", "answer", answer="x") if mode is Mode.CHAT else end()
    return document([start, last], [f"start -> {last.id}"], mode=mode)


def field(name: str, type_: str = "text-input", **more: Any) -> dict[str, Any]:
    return {"variable": name, "label": name, "type": type_, **more}


CHAT = build(mode=Mode.CHAT)


@pytest.mark.parametrize(
    ("caller", "called", "values"),
    [
        (CHAT, CHAT, {"query": "{{#sys.query#}}"}),
        (build(field("text")), CHAT, {"query": "{{#start.text#}}"}),
        (
            CHAT,
            build(field("tone"), field("text", required=True), field("count", "number")),
            {"tone": "", "text": "{{#sys.query#}}", "count": ""},
        ),
        (
            build(field("count", "number"), field("page"), field("text")),
            build(field("text"), field("count", "number"), field("url")),
            {"text": "{{#start.text#}}", "count": "{{#start.count#}}", "url": "{{#start.page#}}"},
        ),
        (
            build(field("text", "number")),
            build(field("text"), field("kind", "select", options=["a"])),
            {"text": "", "kind": ""},
        ),
    ],
    ids=["chat to chat", "form to chat", "required first", "same names", "nothing fits"],
)
def test_message_and_inputs_of_the_same_name_are_filled_in(
    caller: Document, called: Document, values: dict[str, str]
) -> None:
    assert suggest_values(list_callable_inputs(called), caller) == values
