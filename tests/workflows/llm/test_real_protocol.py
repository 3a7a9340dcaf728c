"""The fake server beside llama.cpp's: equal requests get answers of equal form, frame by frame.

Runs where the two wheels of `bench/real_model.py` are installed.
"""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from bench.real_model import ENVIRONMENT, KEY, MODEL, install_server, run_model_server
from bench.real_requests import SCHEMA, build_schema_request, build_tool_request
from tests.fakes.openai_server import Answer, Call, Failure, FakeOpenAI
from workflows.llm.request_arguments import build_arguments
from workflows.llm.response_formats import AnswerFormat


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ENVIRONMENT / "bin" / "python").exists(),
        reason="run bench/real_model.py once to install it",
    ),
]

# Fields that one of the two sends, and that clients don't read.
ONLY_REAL = {"system_fingerprint", "timings", "prompt_tokens_details"}
ONLY_FAKE = {"logprobs"}  # of OpenAI


@pytest.fixture(scope="module")
def real() -> Iterator[str]:
    with run_model_server(install_server()) as port:
        yield f"http://127.0.0.1:{port}/v1"


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        server.api_key = KEY
        yield server


def send(base_url: str, body: dict[str, Any]) -> tuple[int, str, str]:
    with httpx2.Client(trust_env=False, timeout=120) as client:
        response = client.post(
            f"{base_url}/chat/completions", json=body, headers={"Authorization": f"Bearer {KEY}"}
        )
    return response.status_code, response.headers["content-type"], response.text


def read_frames(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def describe(value: Any) -> Any:
    """Return the form of a value: its fields and their types, without those that only one server sends."""
    if isinstance(value, dict):
        kept = value.keys() - ONLY_REAL - ONLY_FAKE
        return {name: describe(value[name]) for name in sorted(kept)}
    if isinstance(value, list):
        return [describe(item) for item in value]
    return type(value).__name__


def list_forms(frames: list[Any]) -> list[Any]:
    """Return the forms of the frames in their order, each once."""
    forms: list[Any] = []
    for frame in frames:
        form = describe(frame)
        if form not in forms:
            forms.append(form)
    return forms


def build_body(request: Any) -> dict[str, Any]:
    arguments = build_arguments(request, MODEL, AnswerFormat.JSON_SCHEMA)
    return {**arguments, "stream_options": {"include_usage": True}}


TOOL_BODY = build_body(build_tool_request(MODEL))
SCHEMA_BODY = build_body(build_schema_request(MODEL))
PLAIN_BODY = {**SCHEMA_BODY, "max_tokens": 5, "response_format": {"type": "text"}}


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (PLAIN_BODY, Answer("Paris is sunny", finish_reason="length")),
        (TOOL_BODY, Answer(calls=[Call("get_weather", '{"city": "Paris"}')])),
        (SCHEMA_BODY, Answer('{"city": "Paris", "sunny": true}')),
    ],
    ids=["text", "tool call", "schema"],
)
def test_streams_have_the_same_frames(
    real: str, fake: FakeOpenAI, body: dict[str, Any], answer: Answer
) -> None:
    fake.script(answer)

    expected, actual = send(real, body), send(fake.base_url, body)

    assert expected[0] == actual[0] == 200, expected
    assert expected[1].split(";")[0] == actual[1].split(";")[0] == "text/event-stream"
    assert list_forms(read_frames(expected[2])) == list_forms(read_frames(actual[2]))
    reasons = [
        [c["finish_reason"] for frame in read_frames(text) for c in frame["choices"] if c["finish_reason"]]
        for text in (expected[2], actual[2])
    ]  # fmt: skip
    assert reasons[0] == reasons[1]


def test_answer_is_constrained_to_the_schema(real: str) -> None:
    frames = read_frames(send(real, SCHEMA_BODY)[2])

    deltas = [choice["delta"] for frame in frames for choice in frame["choices"]]
    value = json.loads("".join(delta.get("content") or "" for delta in deltas))
    assert value.keys() == SCHEMA["properties"].keys()


@pytest.mark.parametrize(
    "wrong", [{"response_format": {"type": "nonsense"}}, {"tools": [{"type": "function", "function": {
        "name": "x", "parameters": {"type": "nonsense"}}}]}],
)  # fmt: skip
def test_refusals_have_the_same_form(real: str, fake: FakeOpenAI, wrong: dict[str, Any]) -> None:
    fake.script(Failure(400))

    expected, actual = (
        send(real, {**TOOL_BODY, **wrong}),
        send(fake.base_url, {**TOOL_BODY, **wrong}),
    )

    assert expected[0] == actual[0] == 400
    errors = [json.loads(text)["error"] for text in (expected[2], actual[2])]
    assert errors[0].keys() <= errors[1].keys()
    assert isinstance(errors[0]["message"], str)
