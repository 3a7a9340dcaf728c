"""OpenAI's own client, unmodified: synchronous, asynchronous, streaming, its errors and its retries."""

from collections.abc import Iterator

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageParam

from tests.clients.openai.conftest import Place
from tests.clients.openai.scenario import FACT, QUESTION, check, play


def messages(text: str) -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": text}]


@pytest.fixture
def client(place: Place) -> Iterator[OpenAI]:
    with OpenAI(base_url=place.url, api_key=place.key) as made:
        yield made


def test_person_is_remembered_and_forgotten(client: OpenAI):
    def ask(model: str, text: str, person: str) -> str:
        answer = client.chat.completions.create(model=model, messages=messages(text), user=person)
        return answer.choices[0].message.content or ""

    check(play(ask, "openai-sync"))


async def test_asynchronous_client_streams(place: Place):
    async with AsyncOpenAI(base_url=place.url, api_key=place.key) as client:
        answer = await client.chat.completions.create(
            model="diary", messages=messages(FACT), user="openai-async"
        )
        stream = await client.chat.completions.create(
            model="diary",
            messages=messages(QUESTION),
            user="openai-async",
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]

    assert answer.choices[0].finish_reason == "stop"
    *pieces, usage = chunks
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces)
    assert "peanuts" in text
    assert pieces[0].choices[0].delta.role == "assistant"
    assert pieces[-1].choices[0].finish_reason == "stop"
    assert usage.choices == []
    assert usage.usage is not None
    assert usage.usage.total_tokens > 0


def test_models_are_listed_and_read(client: OpenAI):
    assert {"diary", "forget", "broken"} == {model.id for model in client.models.list()}
    assert client.models.retrieve("diary@1").id == "diary@1"


def test_server_keeps_a_conversation_that_is_named(client: OpenAI):
    answer = client.chat.completions.with_raw_response.create(
        model="diary", messages=messages(FACT), user="openai-kept",
        metadata={"conversation_id": "openai-kept"},
    )  # fmt: skip

    assert answer.headers["X-Conversation-Id"] == "openai-kept"
    assert answer.request_id


def test_addresses_without_the_prefix_are_the_same(place: Place):
    root = place.url.removesuffix("/openai/v1")
    with OpenAI(base_url=f"{root}/v1", api_key=place.key) as client:
        assert client.models.retrieve("diary").object == "model"
        answer = client.chat.completions.create(model="forget", messages=messages("Forget me."))

    assert answer.choices[0].message.content == "Forgotten: 0"


def test_errors_are_those_of_the_client(client: OpenAI, place: Place):
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="gpt-4o", messages=messages("Hello?"))
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="diary", messages=messages("Hello?"), n=2)
    with (
        OpenAI(base_url=place.url, api_key="mf_wrong") as nobody,
        pytest.raises(openai.AuthenticationError),
    ):
        nobody.models.list()

    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    assert refused.value.param == "n"


def test_key_of_another_team_sees_none_of_it(place: Place):
    with OpenAI(base_url=place.url, api_key=place.strangers_key) as stranger:
        assert [model.id for model in stranger.models.list()] == ["other"]
        with pytest.raises(openai.NotFoundError):
            stranger.chat.completions.create(model="diary", messages=messages(QUESTION), user="a")
        stranger.chat.completions.create(model="other", messages=messages(FACT), user="their-ana")
    with OpenAI(base_url=place.url, api_key=place.key) as own:
        answer = own.chat.completions.create(
            model="diary", messages=messages(QUESTION), user="their-ana"
        )

    assert "peanuts" not in (answer.choices[0].message.content or "")


def test_failed_run_is_not_run_again_by_the_client(place: Place):
    calls: list[int] = []
    with OpenAI(base_url=place.url, api_key=place.key, max_retries=3) as client:
        client._client.event_hooks["response"] = [lambda answer: calls.append(answer.status_code)]
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="broken", messages=messages("Hello?"))
        with pytest.raises(openai.APIError, match="division"):
            list(
                client.chat.completions.create(
                    model="broken", messages=messages("Hello?"), stream=True
                )
            )

    assert calls == [500, 200]
