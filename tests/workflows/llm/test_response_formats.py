"""Answers in JSON: asked for in the strictest way that the endpoint accepts, which is remembered."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.openai_server import Failure, FakeOpenAI
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import Message, ModelRequest, Origin
from workflows.llm.config import ProviderConfig
from workflows.llm.openai_compatible import OpenAICompatible
from workflows.llm.response_formats import forget_formats, is_strict


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
          "additionalProperties": False}  # fmt: skip
SENT = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    forget_formats()
    with FakeOpenAI() as fake:
        yield fake
    forget_formats()


def ask(server: FakeOpenAI, model: str = "m", **more: Any) -> None:
    port = OpenAICompatible(ProviderConfig("acme", base_url=server.base_url), allow=(server.allow,))
    messages = (Message("system", "Be brief."), Message("user", "Hi"))
    request = ModelRequest(
        "acme", model, messages, Origin("r", "n", "k"), **{"json_schema": SCHEMA, **more}
    )

    async def read() -> None:
        async for _ in port.stream(request):
            pass

    asyncio.run(read())


def list_formats(server: FakeOpenAI) -> list[Any]:
    return [request.body.get("response_format") for request in server.requests]


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        (("text", "json_object", "json_schema"), [SENT]),
        (("text", "json_object"), [SENT, {"type": "json_object"}]),
        (("text",), [SENT, {"type": "json_object"}, None]),
    ],
)
def test_weaker_format_is_used_after_a_refusal(
    server: FakeOpenAI, formats: tuple[str, ...], expected: list[Any]
) -> None:
    server.formats = formats

    ask(server)

    assert list_formats(server) == expected
    system = server.requests[-1].body["messages"][0]["content"]
    assert ('"required": ["a"]' in system) is (expected[-1] != SENT)  # then the prompt says it
    assert system.startswith("Be brief.")


def test_accepted_format_is_remembered_for_the_model_and_the_address(server: FakeOpenAI) -> None:
    server.formats = ("text", "json_object")

    ask(server)
    ask(server)
    ask(server, "other")

    assert list_formats(server) == [
        SENT,
        *[{"type": "json_object"}] * 2,
        SENT,
        {"type": "json_object"},
    ]


def test_schema_that_is_refused_says_nothing_about_the_next_one(server: FakeOpenAI) -> None:
    server.script(Failure(400, "Invalid schema for response_format 'answer'"), "{}", "{}")

    ask(server)
    ask(server)

    assert list_formats(server) == [SENT, {"type": "json_object"}, SENT]


def test_other_refusals_are_failures(server: FakeOpenAI) -> None:
    server.script(Failure(400, "temperature must be lower"))

    with pytest.raises(ModelFailed, match="malformed"):
        ask(server)

    assert len(server.requests) == 1


def test_endless_refusals_end(server: FakeOpenAI) -> None:
    server.script(Failure(400, "response_format is not supported"))

    with pytest.raises(ModelFailed):
        ask(server)

    assert len(server.requests) == 3


def test_completion_model_is_told_in_the_prompt(server: FakeOpenAI) -> None:
    ask(server, mode="completion")

    assert '"required": ["a"]' in server.requests[0].body["prompt"]
    assert list_formats(server) == [None]


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (SCHEMA, True),
        ({**SCHEMA, "required": []}, False),
        ({**SCHEMA, "additionalProperties": True}, False),
        ({"type": "array", "items": SCHEMA}, True),
        ({"type": "object"}, False),
        ({"anyOf": [SCHEMA, {"type": "object"}]}, False),
        ({"enum": [{"properties": 1}]}, True),
    ],
)
def test_strict_mode_is_asked_for_only_if_the_schema_allows_it(schema: Any, strict: bool) -> None:
    assert is_strict(schema) is strict
