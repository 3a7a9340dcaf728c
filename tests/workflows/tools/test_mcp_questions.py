"""What an MCP server asks a person, as its form shows it, and the answer as the server gets it."""

import json
from typing import Any

import pytest
from mcp import types

from tests.fakes.mcp_server import ADD, FakeMcp, Raw
from workflows.engine.tool_calls import ToolAsks, ToolReply
from workflows.models import Run, RunWait
from workflows.tools.mcp.questions import build_question, read_reply
from workflows.tools.mcp.session import Server, call_tool
from workflows.tools.operations import Operation
from workflows.views.waits.forms import Question
from workflows.views.waits.forms import build_question as build_page


ADDING = Operation("add", "", ADD["inputSchema"], {"name": "add"})


def ask(message: str = "Which?", **properties: Any) -> ToolAsks:
    schema = {"type": "object", "properties": properties}
    form = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    requests: Any = {"q": types.ElicitRequest(params=form)}
    return build_question("order", types.InputRequiredResult(input_requests=requests))


def show(question: ToolAsks) -> Question:
    wait = RunWait(form=question.form, node_key="tool")
    return build_page(Run(status="paused"), wait, "/answer/", shows_names=False)


def answer(question: ToolAsks, **values: Any) -> Any:
    responses, _state = read_reply(ToolReply(values, "accept", question.state))
    assert responses is not None
    result: Any = responses["q"]
    return result.content


@pytest.mark.parametrize(
    "message",
    [
        "[Sign in again](https://evil.example/)",
        "Size? {{#$output.size#}}# Sign in\n[again](https://evil.example/)",
        "{{#$output.nothing#}}[again](https://evil.example/)",
        "{{{#$output.size#}}**again** {{#url#}}",
        "a\u2028\u2028[again](https://evil.example/)\r\r# Sign in",
    ],
)
def test_text_of_a_server_is_shown_as_it_is_written(message: str) -> None:
    page = show(ask(message, size={"type": "string"}))

    html = "".join(piece.html for piece in page.pieces if piece.text)
    assert not any(tag in html for tag in ("<a", "<h1", "<img")), html
    assert html.count("<strong>") == 1  # the tool's
    assert [piece.field.name for piece in page.pieces if piece.field] == ["size"]


def test_field_says_what_the_server_says_about_it() -> None:
    mail = {"type": "string", "title": "Mail", "description": "Where the bill goes"}
    fields = [piece.field for piece in show(ask(mail=mail)).pieces if piece.field]

    assert [(field.label, field.hint) for field in fields] == [("Mail", "Where the bill goes")]


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ({"type": "string", "enum": ["mon", "tue"]}, "mon, tue"),
        (
            {"anyOf": [{"const": "mon", "title": "Monday"}, {"const": "tue", "title": "Tuesday"}]},
            "Monday, Tuesday",
        ),
    ],
)
def test_values_among_which_several_are_chosen_are_named(items: Any, names: str) -> None:
    question = ask(days={"type": "array", "items": items})
    fields = [piece.field for piece in show(question).pieces if piece.field]

    assert [field.hint for field in fields] == [f"One per line: {names}"]
    assert answer(question, days=names.replace(", ", "\n")) == {"days": ["mon", "tue"]}


def test_default_of_a_choice_is_what_the_value_is_called() -> None:
    options = [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]
    question = ask(size={"type": "string", "oneOf": options, "default": "l"})
    [field] = [piece.field for piece in show(question).pieces if piece.field]

    assert (field.options, field.value) == (("Small", "Large"), "Large")
    assert answer(question, size="Large") == {"size": "l"}


SIZE: Any = {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}
ENDED = {
    "code": -32602,
    "message": "Invalid or expired requestState",
    "data": {"reason": "invalid_request_state"},
}


def ask_for(message: str, state: str) -> dict[str, Any]:
    params = {"mode": "form", "message": message, "requestedSchema": SIZE}
    request = {"method": "elicitation/create", "params": params}
    return {
        "resultType": "input_required",
        "inputRequests": {"q": request},
        "requestState": state,
    }


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(("question", "is_asked_again"), [("Which?", False), ("Which one?", True)])
async def test_answer_that_comes_after_the_state_has_ended_is_given_to_the_same_question(
    question: str, is_asked_again: bool
) -> None:
    states: list[str | None] = []

    def order(message: Any) -> Any:
        params = message["params"]
        states.append(params.get("requestState"))
        if states[-1] == "old":
            body = {"jsonrpc": "2.0", "id": message["id"], "error": ENDED}
            return Raw(json.dumps(body).encode(), 400)
        if "inputResponses" not in params:
            return ask_for("Which?" if len(states) == 1 else question, "new")
        text = json.dumps(params["inputResponses"]["q"])
        return {"resultType": "complete", "content": [{"type": "text", "text": text}]}

    with FakeMcp() as fake:
        fake.speak_new()
        fake.answers["tools/call"] = order
        target = Server(fake.url, name="shop")
        with pytest.raises(ToolAsks) as asked:
            await call_tool(target, ADDING, {"a": 1, "b": 2})
        state = {**dict(asked.value.state), "state": "old"}
        reply = ToolReply({"size": "L"}, "accept", state)
        if is_asked_again:
            with pytest.raises(ToolAsks):
                await call_tool(target, ADDING, {"a": 1, "b": 2}, reply=reply)
        else:
            answered = await call_tool(target, ADDING, {"a": 1, "b": 2}, reply=reply)
            assert json.loads(answered.text) == {"action": "accept", "content": {"size": "L"}}

    assert asked.value.form["content"] == "**add · shop**\n\n    Which?"
    assert states == [None, "old", None, *([] if is_asked_again else ["new"])]
