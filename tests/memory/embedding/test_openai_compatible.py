"""An endpoint of the OpenAI protocol, by a real connection; and all that one may do wrong."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from memory.core.recall.embedding import EmbedderFault, embed_texts
from memory.embedding.embedders import Options
from memory.embedding.openai_compatible import OpenAICompatible
from tests.fakes.openai_server import Failure, FakeOpenAI, Vectors
from tests.support.embedding import vector


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    from config.net import clients
    from config.net.allow import parse_allowed

    with FakeOpenAI() as fake:
        monkeypatch.setattr(clients, "_load_allow_list", lambda: parse_allowed([fake.allow]))
        yield fake
        while MADE:
            MADE.pop().close()


MADE: list[OpenAICompatible] = []


def embedder(server: FakeOpenAI, **more: Any) -> OpenAICompatible:
    MADE.append(OpenAICompatible(Options(server.base_url, "sk-canary", "tiny", **more)))
    return MADE[-1]


def embedded(server: FakeOpenAI, texts: list[str], seconds: float = 20, **more: Any) -> Any:
    return embed_texts(embedder(server, **more), texts, question=False, seconds=seconds)


@pytest.mark.parametrize(
    "answer",
    [
        Vectors(vector),
        Vectors(vector, base64=True),
        Vectors(vector, backwards=True),
    ],
)
def test_vectors_come_in_the_order_of_the_texts(server: FakeOpenAI, answer: Vectors) -> None:
    server.script(answer)

    boat, cat = embedded(server, ["a boat", "a cat"])

    assert (boat[0], cat[1]) == (pytest.approx(1, abs=0.01), pytest.approx(1, abs=0.01))
    assert server.requests[0].headers["authorization"] == "Bearer sk-canary"
    assert server.requests[0].body == {
        "model": "tiny",
        "input": ["a boat", "a cat"],
        "encoding_format": "float",
    }


def test_package_of_the_protocol_reads_the_fake_as_it_reads_the_real_one(
    server: FakeOpenAI,
) -> None:
    server.script(Vectors(vector))
    with openai.OpenAI(base_url=server.base_url, api_key="x") as client:
        found = client.embeddings.create(model="tiny", input=["a boat"])

    assert found.data[0].embedding == pytest.approx(vector("a boat"))
    assert (found.model, found.usage.total_tokens) == ("tiny", 2)


def test_dimensions_and_prefixes_are_asked_for(server: FakeOpenAI) -> None:
    server.script(Vectors(vector))
    made = embedder(server, dimensions=5, question_prefix="query: ", text_prefix="passage: ")

    made.embed(["boat"], question=True, seconds=20)
    made.embed(["boat"], question=False, seconds=20)

    assert [one.body["input"] for one in server.requests] == [["query: boat"], ["passage: boat"]]
    assert {one.body["dimensions"] for one in server.requests} == {5}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Vectors(vector, missing=1), "too few"),
        (Vectors(lambda _text: [float("nan")] * 5), "not finite"),
        (Vectors(lambda _text: [0.0] * 5), "zeros"),
        (Vectors(lambda _text: [True] * 5), "unreadable vector"),
        (Vectors(lambda text: [1.0] * len(text)), "dimensions"),
        (Vectors(lambda _text: [1.0] * 4_000), "dimensions"),
        (Vectors(vector, raw=b"<html>"), "not valid JSON"),
        (Vectors(vector, raw=b'{"data": [{"embedding": "AAA="}, {"embedding": "%%"}]}'), "unreadable vector"),
        (Vectors(vector, raw=b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}'), "cover all texts"),
        (Vectors(vector, raw=b'[1, 2]'), "protocol"),
        (Failure(500), "answered with status 500"),
        (Failure(429), "Rate limit"),
        (Failure(401), "key"),
    ],
)  # fmt: skip
def test_what_it_does_wrong_is_one_sentence_of_ours(
    server: FakeOpenAI, answer: Any, said: str
) -> None:
    server.script(answer)

    with pytest.raises(EmbedderFault, match=said) as failed:
        embedded(server, ["a boat", "the cat"])

    assert "canary" not in str(failed.value)


def test_wrong_number_of_dimensions_is_refused_for_good(server: FakeOpenAI) -> None:
    server.script(Vectors(vector))

    with pytest.raises(EmbedderFault, match="5 dimensions instead of 8") as failed:
        embedded(server, ["boat"], dimensions=8)

    assert not failed.value.retryable


def test_asks_to_wait_as_long_as_it_says(server: FakeOpenAI) -> None:
    server.script(Failure(429, retry_after=77))

    with pytest.raises(EmbedderFault) as failed:
        embedded(server, ["boat"])

    assert (failed.value.retry_after, failed.value.retryable) == (77.0, True)


def test_slow_one_is_left(server: FakeOpenAI) -> None:
    server.script(Vectors(vector, delay=60))

    with pytest.raises(EmbedderFault, match="timed out"):
        embedded(server, ["boat"], seconds=0.2)


def test_internal_address_needs_the_operators_list() -> None:
    made = OpenAICompatible(Options("http://169.254.169.254/v1", "", "tiny"))

    with pytest.raises(EmbedderFault, match="is blocked"):
        made.embed(["boat"], question=True, seconds=2)


def test_name_changes_with_whatever_changes_a_vector(server: FakeOpenAI) -> None:
    names = {
        embedder(server).name,
        embedder(server, dimensions=5).name,
        embedder(server, text_prefix="passage: ").name,
        OpenAICompatible(Options(server.base_url, "", "other")).name,
        OpenAICompatible(Options("http://127.0.0.2/v1", "", "tiny")).name,
    }

    assert len(names) == 5
    assert embedder(server).name == OpenAICompatible(Options(server.base_url, "k2", "tiny")).name
    assert not any("canary" in name for name in names)


@pytest.mark.parametrize("options", [Options("", "", "tiny"), Options("http://a.example/v1")])
def test_half_a_configuration_is_refused(options: Options) -> None:
    with pytest.raises(ValueError, match="MEMORY_EMBEDDER"):
        OpenAICompatible(options)
