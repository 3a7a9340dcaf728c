"""Tools through the OpenAI protocol: what is sent, and how the pieces of calls become whole, also from bad servers."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.fakes.openai_server import Answer, Call, Failure, FakeOpenAI
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import (
    ImagePart,
    Message,
    ModelChunk,
    ModelRequest,
    ModelSource,
    Origin,
    Usage,
)
from workflows.engine.tool_calls import ToolCall, ToolSpec
from workflows.llm.config import ProviderConfig
from workflows.llm.openai_compatible import OpenAICompatible
from workflows.llm.registry import TeamModels
from workflows.llm.tokens import estimate_messages, estimate_request
from workflows.llm.tool_call_deltas import MAX_ARGUMENTS, MAX_CALLS


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("get_weather", "The weather of a city", CITY)
CLOCK = ToolSpec("clock")
PARIS = '{"city": "Paris"}'


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


def build_request(*messages: Message, **more: Any) -> ModelRequest:
    asked = messages or (Message("user", "Weather in Paris?"),)
    return ModelRequest(
        "acme", "m", asked, Origin("r", "n", "k"), **{"tools": (WEATHER, CLOCK), **more}
    )


def collect(server: FakeOpenAI, request: ModelRequest | None = None) -> list[ModelChunk]:
    port = OpenAICompatible(ProviderConfig("acme", base_url=server.base_url), allow=(server.allow,))

    async def read() -> list[ModelChunk]:
        return [chunk async for chunk in port.stream(request or build_request())]

    return asyncio.run(read())


def test_tools_messages_and_images_are_sent_in_the_protocols_form(server: FakeOpenAI) -> None:
    picture = ImagePart("data:image/png;base64,AA==", "high")
    request = build_request(
        Message("user", "Weather here?", images=(picture,)),
        Message("assistant", "", tool_calls=(ToolCall("c1", "get_weather", PARIS),)),
        Message("tool", "Sunny", tool_call_id="c1"),
        tool_choice="required",
    )
    server.script(Answer(calls=[Call("clock")]))

    collect(server, request)

    body = server.requests[0].body
    assert body["tools"] == [
        {"type": "function", "function": {
            "name": "get_weather", "description": "The weather of a city", "parameters": CITY}},
        {"type": "function", "function": {
            "name": "clock", "parameters": {"type": "object", "properties": {}}}},
    ]  # fmt: skip
    assert body["tool_choice"] == "required"
    assert body["messages"] == [
        {"role": "user", "content": [
            {"type": "text", "text": "Weather here?"},
            {"type": "image_url", "image_url": {"url": picture.url, "detail": "high"}}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function",
             "function": {"name": "get_weather", "arguments": PARIS}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "Sunny"},
    ]  # fmt: skip


def test_request_without_tools_names_none(server: FakeOpenAI) -> None:
    collect(server, build_request(tools=()))

    assert {"tools", "tool_choice"} & server.requests[0].body.keys() == set()


def test_last_chunk_has_the_complete_calls_and_the_reason(server: FakeOpenAI) -> None:
    calls = [Call("get_weather", PARIS, "a"), Call("clock", "{}", "b")]
    server.script(Answer("Let me see.", reasoning="Two calls.", calls=calls))

    chunks = collect(server)

    assert "".join(chunk.text for chunk in chunks) == "Let me see."
    assert "".join(chunk.reasoning for chunk in chunks) == "Two calls."
    assert [chunk.tool_calls for chunk in chunks[:-1]] == [()] * (len(chunks) - 1)
    assert chunks[-1] == ModelChunk(
        tool_calls=(ToolCall("a", "get_weather", PARIS), ToolCall("b", "clock", "{}")),
        finish_reason="tool_calls",
        usage=Usage(11, 7),
        source=ModelSource("acme", "m"),
    )


def piece(index: Any = None, id: Any = None, name: Any = None, arguments: Any = None) -> Any:  # noqa: A002
    """A piece of a tool call, without the fields that are None."""
    function = {"name": name, "arguments": arguments}
    fields = {
        "index": index,
        "id": id,
        "function": {k: v for k, v in function.items() if v is not None},
    }
    return {key: value for key, value in fields.items() if value is not None}


def call(call_id: str, name: str = "get_weather", arguments: str = PARIS) -> ToolCall:
    return ToolCall(call_id, name, arguments)


# (what the server does, its deltas, the calls)
SERVERS = [
    ("interleaves two calls",
     [[piece(0, "a", "get_weather", ""), piece(1, "b", "clock", "")],
      [piece(1, arguments="{"), piece(0, arguments='{"city": ')],
      [piece(0, arguments='"Paris"}'), piece(1, arguments="}")]],
     [call("a"), call("b", "clock", "{}")]),
    ("sends whole calls in one delta", [[piece(0, "a", "get_weather", PARIS), piece(1, "b", "clock", "{}")]],
     [call("a"), call("b", "clock", "{}")]),
    ("sends no ids", [[piece(0, name="get_weather", arguments=PARIS), piece(1, name="clock")]],
     [call("call_1"), call("call_2", "clock", "{}")]),
    ("sends neither ids nor indexes",
     [[piece(name="get_weather", arguments='{"city": ')], [piece(arguments='"Paris"}')],
      [piece(name="clock", arguments="{}")]],
     [call("call_1"), call("call_2", "clock", "{}")]),
    ("sends ids and no indexes",
     [[piece(id="a", name="get_weather", arguments='{"city": ')],
      [piece(id="b", name="clock", arguments="{}")], [piece(id="a", arguments='"Paris"}')]],
     [call("a"), call("b", "clock", "{}")]),
    ("gives all calls index 0", [[piece(0, "a", "get_weather", PARIS)], [piece(0, "b", "clock", "{}")]],
     [call("a"), call("b", "clock", "{}")]),
    ("gives all calls index 0 and no ids",
     [[piece(0, name="get_weather", arguments=PARIS)], [piece(0, name="get_weather", arguments=PARIS)]],
     [call("call_1"), call("call_2")]),
    ("repeats name and id", [[piece(0, "a", "get_weather", '{"city": ')], [piece(0, "a", "get_weather", '"Paris"}')]],
     [call("a")]),
    ("gives each piece another id", [[piece(0, "a", "get_weather", '{"city": ')], [piece(0, "b", "", '"Paris"}')]],
     [call("a")]),
    ("gives two calls the same id", [[piece(0, "a", "get_weather", PARIS), piece(1, "a", "clock", "{}")]],
     [call("a"), call("call_1", "clock", "{}")]),
    ("cuts the name", [[piece(0, "a", "get_", "")], [piece(0, name="weather")], [piece(0, arguments=PARIS)]],
     [call("a")]),
    ("sends arguments as an object", [[piece(0, "a", "get_weather", {"city": "Paris"})]], [call("a")]),
    ("writes invalid JSON", [[piece(0, "a", "get_weather", '{"city": Paris')]],
     [call("a", arguments='{"city": Paris')]),
    ("ends with an empty piece", [[piece(0, "a", "get_weather", PARIS)], [piece(1, arguments="")]], [call("a")]),
    ("uses wrong types", [["x", None, 7, {"index": "0", "function": "f"}], [piece([], {}, "clock", 5)]],
     [ToolCall("{}", "clock", "5")]),
    ("sends something else than a list", ["abc", [piece(0, "a", "get_weather", PARIS)]], [call("a")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("deltas", "calls"), [row[1:] for row in SERVERS], ids=[row[0] for row in SERVERS]
)
def test_calls_are_assembled_however_a_server_cuts_them(
    server: FakeOpenAI, deltas: list[Any], calls: list[ToolCall]
) -> None:
    server.script(Answer(deltas=[{"tool_calls": pieces} for pieces in deltas]))

    last = collect(server)[-1]

    assert last.tool_calls == tuple(calls)
    assert last.finish_reason == "tool_calls"  # though the server says "stop"


def test_older_form_with_one_function_call_is_read(server: FakeOpenAI) -> None:
    deltas = [{"function_call": {"name": "get_weather", "arguments": ""}},
              {"function_call": {"arguments": PARIS}}]  # fmt: skip
    server.script(Answer(deltas=deltas, finish_reason="function_call"))

    assert collect(server)[-1].tool_calls == (call("call_1"),)


def test_made_up_ids_differ_from_those_of_earlier_rounds(server: FakeOpenAI) -> None:
    earlier = Message("assistant", "", tool_calls=(call("call_1"), call("call_2")))
    server.script(Answer(deltas=[{"tool_calls": [piece(0, name="clock")]}]))

    last = collect(server, build_request(Message("user", "Hi"), earlier))[-1]

    assert last.tool_calls == (call("call_3", "clock", "{}"),)


def test_reason_for_calls_without_a_call_is_an_ordinary_end(server: FakeOpenAI) -> None:
    server.script(Answer("Done.", finish_reason="tool_calls"))

    assert collect(server)[-1].finish_reason == "stop"


ENDLESS = [{"tool_calls": [piece(0, "a", "clock", "")]},
           *({"tool_calls": [piece(0, arguments="x" * 50_000)]} for _ in range(100))]  # fmt: skip
THOUSAND = [{"tool_calls": [piece(n, f"c{n}", "clock", "{}") for n in range(1000)]}]


@pytest.mark.parametrize(
    ("answer", "sentence", "retryable"),
    [
        (Answer(deltas=ENDLESS), f"more than {MAX_ARGUMENTS} characters", False),
        (Answer(deltas=THOUSAND), f"more than {MAX_CALLS} tool calls", False),
        (Answer(deltas=[{"tool_calls": [piece(0, "a", None, "{}")]}]), "without the name", True),
        (Answer(deltas=[{"tool_calls": [piece(0, "a", "clock", '{"a')]}], finish_reason="length"),
         "length limit within a tool call", False),
        (Answer(calls=[Call("clock")], finish_reason=None, cut_after=2), "was cut off", True),
    ],
)  # fmt: skip
def test_unusable_calls_fail_with_a_sentence(
    server: FakeOpenAI, answer: Answer, sentence: str, retryable: bool
) -> None:
    server.script(answer)

    with pytest.raises(ModelFailed, match=sentence) as failed:
        collect(server)

    assert failed.value.retryable is retryable


@pytest.mark.parametrize("more", [{"tools": ()}, {"tool_choice": "none"}])
def test_call_that_was_not_offered_is_a_fault_that_says_so(
    server: FakeOpenAI, more: dict[str, Any]
) -> None:
    server.script(Answer(calls=[Call("delete_everything")]))

    with pytest.raises(ModelFailed, match=r"'delete_everything', although .* no tool"):
        collect(server, build_request(**more))


NO_TOOLS = r"can't call tools.*ReAct"


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (Failure(400, "tiny does not support tools"), NO_TOOLS),
        (Failure(400, '"auto" tool choice requires --enable-auto-tool-choice'), NO_TOOLS),
        (Failure(404, "No endpoints found that support tool use"), NO_TOOLS),
        (Failure(500, "tools param requires --jinja flag"), NO_TOOLS),
        (Failure(422, "Extra inputs are not permitted: tools"), NO_TOOLS),
        (Failure(400, "Invalid schema for function 'x': canary"), "description of a tool"),
        (Failure(400, "JSON schema error at #: unrecognized type"), "description of a tool"),
        (Failure(400, "Failed to call a function.", code="tool_use_failed"), "invalid tool call"),
        (Failure(400, "maximum context length: 5 tools"), "too long"),
        (Failure(400, "temperature must be lower"), "malformed"),
    ],
)
def test_refusal_of_tools_tells_what_to_do(
    server: FakeOpenAI, failure: Failure, sentence: str
) -> None:
    server.script(failure)

    with pytest.raises(ModelFailed, match=sentence) as failed:
        collect(server)

    assert "canary" not in failed.value.message
    assert failed.value.status == failure.status


def test_words_about_tools_matter_only_when_tools_were_sent(server: FakeOpenAI) -> None:
    server.script(Failure(400, "tools are great"))

    with pytest.raises(ModelFailed, match="malformed"):
        collect(server, build_request(tools=()))


def test_refusal_of_images_names_the_model(server: FakeOpenAI) -> None:
    server.script(Failure(500, "image input is not supported"))

    with pytest.raises(ModelFailed, match=r"'m' of acme can't read images"):
        collect(server, build_request(Message("user", "Hi", images=(ImagePart("http://x/y.png"),))))


def test_reasoning_in_parts_is_kept_apart(server: FakeOpenAI) -> None:
    deltas = [
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
        {"content": [{"type": "text", "text": "Yes."}]},
        {"content": None, "reasoning": " Sure."},
    ]
    server.script(Answer(deltas=deltas))

    chunks = collect(server)

    assert "".join(chunk.reasoning for chunk in chunks) == "Hm. Sure."
    assert "".join(chunk.text for chunk in chunks) == "Yes."


def test_estimate_counts_tools_calls_and_images(server: FakeOpenAI) -> None:
    server.script(Answer(calls=[Call("get_weather", PARIS)], usage=None))
    request = build_request()

    usage = collect(server)[-1].usage

    assert usage == Usage(estimate_request(request), 7)
    assert estimate_request(request) > estimate_messages(request.messages) + 20
    with_call = Message("assistant", "", tool_calls=(call("a"),))
    with_image = Message("user", "", images=(ImagePart("u"),))
    assert estimate_messages([with_call]) > estimate_messages([Message("assistant", "")])
    assert estimate_messages([with_image]) > 500


def test_key_in_arguments_and_names_is_redacted(
    server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    from config.net import allow, clients

    key = "sk-canary-0123456789"
    monkeypatch.setattr(clients, "_load_allow_list", lambda: allow.parse_allowed((server.allow,)))
    config = ProviderConfig("acme", base_url=server.base_url, api_key=key)
    server.script(Answer(calls=[Call(f"x{key}", json.dumps({"city": key}), f"id-{key}")]))

    async def read() -> list[ModelChunk]:
        return [chunk async for chunk in TeamModels([config]).stream(build_request())]

    calls = asyncio.run(read())[-1].tool_calls

    assert "canary" not in str(calls)
    assert json.loads(calls[0].arguments) == {"city": "[redacted]"}


HOSTILE_FRAMES = [
    {"choices": "abc"}, {"choices": [None]}, {"choices": {"delta": 1}}, {"choices": [7]}, 7, [], None, "x",
    {"choices": [{"delta": "text", "finish_reason": "stop"}]},
    {"choices": [{"delta": {"content": {"a": 1}}, "finish_reason": 5}]},
    {"choices": [{"delta": {"content": [1, {"text": 2}, {"thinking": "x"}, None]}, "finish_reason": "stop"}]},
    {"choices": [{"delta": {"tool_calls": {"index": 0}}, "finish_reason": "stop"}]},
    {"choices": [{"delta": {"tool_calls": [[[]]], "function_call": 3}, "finish_reason": "stop"}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 10**30, "function": {"name": "clock", "arguments": None}}]},
                  "finish_reason": "stop"}]},
    {"choices": [{"delta": {"tool_calls": [{"index": -1, "id": 5, "function": {"name": ["clock"]}}]},
                  "finish_reason": "stop"}]},
    {"choices": [{"delta": {"reasoning_content": ["x"], "reasoning": 7}, "finish_reason": "stop"}], "usage": "many"},
    {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": -5, "completion_tokens": 10**40}},
]  # fmt: skip


@pytest.mark.parametrize("frame", HOSTILE_FRAMES, ids=str)
def test_frames_of_any_form_are_an_answer_or_a_failure_of_the_model(
    server: FakeOpenAI, frame: Any
) -> None:
    server.script(Answer(raw=b"data: " + json.dumps(frame).encode() + b"\n\ndata: [DONE]\n\n"))

    with suppress(ModelFailed):
        last = collect(server)[-1]

        usage = last.usage or Usage()
        assert last.finish_reason in ("stop", "tool_calls")
        assert 0 <= usage.prompt_tokens <= usage.total_tokens < 10**10


def test_frame_that_is_nested_too_deeply_is_a_failure_of_the_model(server: FakeOpenAI) -> None:
    server.script(Answer(raw=b'data: {"choices": ' + b"[" * 200_000 + b"\n\n"))

    with pytest.raises(ModelFailed):
        collect(server)
