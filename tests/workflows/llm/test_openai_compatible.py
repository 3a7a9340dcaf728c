"""The provider against a server that speaks the protocol, behaves badly on demand, and remembers."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from openai.types import Completion, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from config import net
from tests.fakes.openai_server import (
    GATE_LIMIT,
    Answer,
    Call,
    Failure,
    FakeOpenAI,
    Request,
    _model,
    _whole,
    chat_frames,
    completion_frames,
)
from tests.support.ports import hold_port
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import Message, ModelChunk, ModelRequest, ModelSource, Origin, Usage
from workflows.llm.config import ProviderConfig
from workflows.llm.failure_messages import is_about_connection
from workflows.llm.failures import ModelRateLimited
from workflows.llm.openai_compatible import OpenAICompatible


KEY = "sk-canary-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        fake.api_key = KEY
        yield fake


def provider(server: FakeOpenAI, *, api_key: str = KEY, **options: Any) -> OpenAICompatible:
    config = ProviderConfig("acme", base_url=server.base_url, api_key=api_key)
    return OpenAICompatible(config, allow=(server.allow,), **options)


def request(**more: Any) -> ModelRequest:
    messages = (Message("system", "Be brief."), Message("user", "Hi"))
    return ModelRequest("acme", "gpt-4", messages, Origin("r", "n", "k"), **more)


def chunks_of(port: OpenAICompatible, asked: ModelRequest | None = None) -> list[ModelChunk]:
    async def collect() -> list[ModelChunk]:
        return [chunk async for chunk in port.stream(asked or request())]

    return asyncio.run(collect())


def failure_of(port: OpenAICompatible, asked: ModelRequest | None = None) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        chunks_of(port, asked)
    assert "canary" not in failed.value.message  # neither the key nor what the server said
    assert "127.0.0.1" not in failed.value.message
    assert failed.value.__cause__ is None
    return failed.value


def test_answer_streams_piece_by_piece_with_usage(server: FakeOpenAI) -> None:
    server.script(Answer("Hello there Ana.", reasoning="She said hi."))

    chunks = chunks_of(provider(server))

    assert [chunk.text for chunk in chunks if chunk.text] == ["Hello ", "there ", "Ana."]
    assert [chunk.reasoning for chunk in chunks if chunk.reasoning] == ["She said hi."]
    assert chunks[-1] == ModelChunk(
        finish_reason="stop", usage=Usage(11, 7), source=ModelSource("acme", "gpt-4")
    )


def test_first_piece_arrives_before_the_last_is_sent(server: FakeOpenAI) -> None:
    """Or else it would be awaited in vain, because the server sends the others only when it has arrived."""
    has_arrived = threading.Event()
    server.script(Answer("one two three four five six", gate=has_arrived))

    async def receive() -> list[str]:
        texts = []
        async with asyncio.timeout(GATE_LIMIT / 2):
            async for chunk in provider(server).stream(request()):
                if chunk.text:
                    texts.append(chunk.text)
                    has_arrived.set()
        return texts

    assert asyncio.run(receive()) == ["one ", "two ", "three ", "four ", "five ", "six"]


def test_calls_of_a_worker_use_one_connection_but_never_another_keys(server: FakeOpenAI) -> None:
    async def call(api_key: str) -> None:
        async for _chunk in provider(server, api_key=api_key).stream(request()):
            pass

    async def work() -> None:
        async with net.reuse_connections():
            server.api_key = None  # whichever is sent
            for api_key in ("one", "one", "other", "one"):
                await call(api_key)

    asyncio.run(work())

    first, second, other, third = [sent.connection for sent in server.requests]
    assert first == second == third != other


def test_request_carries_what_the_node_says_and_nothing_unknown(server: FakeOpenAI) -> None:
    params = {
        "temperature": 0.2, "max_tokens": 5, "top_k": 3, "stop": ["x"], "seed": None,
        "api_key": "other", "base_url": "http://evil", "model": "other", "messages": [],
        "response_format": "json_object", "extra_headers": {"X": "y"},
    }  # fmt: skip

    chunks_of(provider(server), request(params=params))

    sent = server.requests[0]
    assert sent.body == {
        "model": "gpt-4",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
        "max_tokens": 5,
        "stop": ["x"],
        "top_k": 3,
        "response_format": {"type": "json_object"},
    }
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert "x" not in sent.headers


def test_process_environment_never_reaches_a_teams_provider(
    server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "from-the-environment")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: from-the-environment")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    chunks_of(provider(server))

    assert "from-the-environment" not in str(server.requests[0].headers)


def test_schema_is_sent_as_response_format(server: FakeOpenAI) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}

    chunks_of(provider(server), request(json_schema=schema))

    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": False},
    }


def test_completion_mode_asks_with_a_prompt(server: FakeOpenAI) -> None:
    server.script(Answer("once upon"))

    chunks = chunks_of(provider(server), request(mode="completion", params={"verbosity": "low"}))

    assert server.requests[0].path == "/v1/completions"
    assert server.requests[0].body["prompt"] == "Be brief.\n\nHi"
    assert "verbosity" not in server.requests[0].body
    assert "".join(chunk.text for chunk in chunks) == "once upon "
    assert chunks[-1].usage == Usage(11, 7)


def test_server_without_stream_options_is_asked_again_and_usage_estimated(
    server: FakeOpenAI,
) -> None:
    server.knows_stream_options = False

    chunks = chunks_of(provider(server))

    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens > 0
    assert chunks[-1].usage.completion_tokens > 0


FAILURES = [
    # (reply, part of the sentence, retryable, status)
    (Failure(401), "rejected the credential", False, 401),
    (Failure(403), "rejected the credential", False, 403),
    (Failure(404), "doesn't have the model 'gpt-4'", False, 404),
    (Failure(400), "malformed", False, 400),
    (Failure(400, "maximum context length is 5"), "too long", False, 400),
    (Failure(400, "no", code="context_length_exceeded"), "too long", False, 400),
    (Failure(400, "the request exceeds the available context size"), "too long", False, 400),
    (Failure(400, "x", code="content_filter"), "content filter", False, 400),
    (Failure(402), "no credit", False, 402),
    (Failure(429, retry_after=3), "Retry after 3 s", True, 429),
    (Failure(429), "rate limit", True, 429),
    (Failure(429, code="insufficient_quota"), "no credit", False, 429),
    (Failure(500), "server error (status 500)", True, 500),
    (Failure(503, body=b"<html>canary</html>"), "status 503", True, 503),
    (Failure(302, headers={"Location": "http://127.0.0.1:1/canary"}), "redirects", False, 302),
    (Failure(418), "status 418", False, 418),
    (Answer("a b c", cut_after=2), "was cut off", True, None),
    (Answer("a b c", finish_reason=None), "was cut off", True, None),
    (Answer("", finish_reason="content_filter"), "content filter", False, None),
    (Answer("", raw=b"data: {canary\n\n"), "not OpenAI-compatible", True, None),
    (
        Answer("", raw=b'data: {"error": {"message": "canary"}}\n\n'),
        "not OpenAI-compatible",
        True,
        None,
    ),
    (Answer("", raw=b"<html>canary</html>"), "was cut off", True, None),
]


@pytest.mark.parametrize(("reply", "sentence", "retryable", "status"), FAILURES)
def test_failure_has_its_own_sentence(
    server: FakeOpenAI, reply: Any, sentence: str, retryable: bool, status: int | None
) -> None:
    server.script(reply)

    failed = failure_of(provider(server))

    assert sentence in failed.message
    assert (failed.retryable, failed.status) == (retryable, status)
    assert len(server.requests) == 1  # trying again is the engine's


def test_rate_limit_tells_how_long_to_wait(server: FakeOpenAI) -> None:
    server.script(Failure(429, retry_after=3))

    failed = failure_of(provider(server))

    assert isinstance(failed, ModelRateLimited)
    assert failed.retry_after == 3


def test_wrong_key_is_a_refused_credential(server: FakeOpenAI) -> None:
    failed = failure_of(provider(server, api_key="sk-wrong-canary"))

    assert failed.message == "acme rejected the credential. Check the API key."


def test_silence_between_pieces_ends_after_the_idle_limit(server: FakeOpenAI) -> None:
    silence = threading.Event()
    server.script(Answer("a b c d e f", gate=silence))

    failed = failure_of(provider(server, idle_seconds=0.3))

    assert "took too long" in failed.message
    assert failed.retryable
    silence.set()


def test_answer_that_never_ends_stops_at_the_total_limit(server: FakeOpenAI) -> None:
    server.script(Answer("w " * 10_000, delay=0.05))

    failed = failure_of(provider(server, total_seconds=0.6, idle_seconds=60))

    assert "took too long" in failed.message


def test_nobody_listening_says_so() -> None:
    with hold_port() as port:
        config = ProviderConfig("acme", base_url=f"http://127.0.0.1:{port}/v1")
        with pytest.raises(ModelFailed) as failed:
            chunks_of(OpenAICompatible(config, allow=(f"127.0.0.1:{port}",)))

    message = failed.value.message  # with the address that the team entered, and no resolved one
    assert message == f"acme isn't responding at http://127.0.0.1:{port}/v1. Is it running?"
    assert is_about_connection(message)
    assert failed.value.retryable


def test_answer_in_a_compression_that_nobody_asked_for_is_told(server: FakeOpenAI) -> None:
    server.script(Failure(500, headers={"Content-Encoding": "br"}))

    failure = failure_of(provider(server))

    assert failure.message == "acme: The response uses a compression that was not requested."
    assert not failure.retryable


def test_address_that_is_not_allowed_is_refused_without_contact(server: FakeOpenAI) -> None:
    config = ProviderConfig("acme", base_url=server.base_url.replace("127.0.0.1", "localhost"))

    with pytest.raises(ModelFailed, match="is blocked") as failed:
        chunks_of(OpenAICompatible(config, allow=()))

    assert not failed.value.retryable
    assert server.requests == []


def test_provider_without_address_says_where_to_enter_one() -> None:
    with pytest.raises(ModelFailed, match="has no base URL"):
        chunks_of(OpenAICompatible(ProviderConfig("acme"), allow=()))


def test_models_are_listed(server: FakeOpenAI) -> None:
    port = provider(server)

    assert asyncio.run(port.list_models()) == ["gpt-4", "tiny"]


def test_key_is_in_no_representation() -> None:
    assert KEY not in repr(ProviderConfig("acme", api_key=KEY))


def test_one_provider_serves_several_loops_at_once(server: FakeOpenAI) -> None:
    server.script(lambda asked: Answer(asked.last_message, delay=0.01))
    port = provider(server)

    async def both() -> list[str]:
        async def one(text: str) -> str:
            asked = ModelRequest("acme", "m", (Message("user", text),), Origin("r", "n", "k"))
            return "".join([chunk.text async for chunk in port.stream(asked)])

        return await asyncio.gather(*(one(f"text {i}") for i in range(8)))

    assert asyncio.run(both()) == asyncio.run(both()) == [f"text {i}" for i in range(8)]


def test_frames_of_the_fake_are_of_the_real_protocol() -> None:
    asked = Request("POST", "/v1/chat/completions", {}, {
        "model": "m", "messages": [], "stream_options": {"include_usage": True}})  # fmt: skip
    answer = Answer("a b", reasoning="r", calls=[Call("clock", '{"zone": "UTC"}', "c")])

    for frame in chat_frames(asked, answer):
        ChatCompletionChunk.model_validate(frame, strict=True)
    for frame in completion_frames(asked, answer):
        if frame["choices"] and frame["choices"][0]["finish_reason"]:
            Completion.model_validate(frame, strict=True)
    ChatCompletion.model_validate(_whole(asked, answer), strict=True)
    Model.model_validate(_model("m"), strict=True)
