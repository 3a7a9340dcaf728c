"""Reranking models, against a server that speaks the protocols of Jina, Cohere, vLLM and Text Embeddings Inference."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from config.net import allow, clients
from tests.fakes.openai_server import Failure, FakeOpenAI, Scores
from workflows.engine.errors import ModelFailed, RerankUnavailable
from workflows.engine.ports import ModelSource, Origin, RerankRequest, RerankResult, Usage
from workflows.llm.config import DEFAULT, OFFLINE, Price, ProviderConfig
from workflows.llm.directory import ANY_MODEL, Mapping
from workflows.llm.offline import OfflineModels
from workflows.llm.openai_compatible import OpenAICompatible
from workflows.llm.registry import TeamModels
from workflows.llm.reranking import read_scores


DOCUMENTS = ("Cats sleep.", "Rain falls in spring.", "Rain.")


def by_rain(document: str) -> float:
    return {"Rain.": 0.9, "Rain falls in spring.": 0.6}.get(document, 0.1)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        monkeypatch.setattr(clients, "_load_allow_list", lambda: allow.parse_allowed((fake.allow,)))
        yield fake


def request(**more: Any) -> RerankRequest:
    values = {"provider": "acme", "model": "ranker", "top_n": 2, **more}
    return RerankRequest(query="rain", documents=DOCUMENTS, origin=Origin("r", "n", "k1"), **values)


def config(server: FakeOpenAI, **more: Any) -> ProviderConfig:
    return ProviderConfig("acme", base_url=server.base_url, api_key="sk-canary", **more)


def rank(server: FakeOpenAI, asked: RerankRequest | None = None, **more: Any) -> RerankResult:
    port = OpenAICompatible(config(server, **more), allow=(server.allow,))
    return asyncio.run(port.rerank(asked or request()))


def test_documents_are_scored_and_the_best_come_first(server: FakeOpenAI) -> None:
    server.script(Scores(by_rain, usage={"total_tokens": 12}))

    result = rank(server)

    assert result.scores == ((2, 0.9), (1, 0.6))
    assert result.usage == Usage(prompt_tokens=12)
    (sent,) = server.requests
    assert (sent.path, sent.headers["idempotency-key"]) == ("/v1/rerank", "k1")
    assert sent.headers["authorization"] == "Bearer sk-canary"
    assert sent.body == {
        "model": "ranker",
        "query": "rain",
        "documents": list(DOCUMENTS),
        "top_n": 2,
    }


def test_bare_list_of_text_embeddings_inference_is_read(server: FakeOpenAI) -> None:
    server.script(Scores(by_rain, as_tei=True))

    result = rank(server)

    assert result.scores == ((2, 0.9), (1, 0.6))
    assert result.usage is None
    assert server.requests[-1].body["texts"] == list(DOCUMENTS)


@pytest.mark.parametrize(
    "answer",
    [
        {"results": "none"},
        {"error": "busy"},
        {"results": [{"index": 7, "relevance_score": 1}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 0}]},
        {"results": [{"index": 0}]},
        {"results": [{"index": True, "relevance_score": 1}]},
        [{"index": 0, "score": "high"}],
        [1],
    ],
)
def test_answer_without_scores_fails_and_may_be_tried_again(
    server: FakeOpenAI, answer: Any
) -> None:
    server.script(Scores(by_rain, raw=json.dumps(answer).encode()))

    with pytest.raises(ModelFailed) as failed:
        rank(server)

    assert failed.value.retryable


def test_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="score"):
        read_scores([{"index": 0, "score": float("nan")}], 1)


@pytest.mark.parametrize(("status", "retryable"), [(404, False), (401, False), (503, True)])
def test_failures_are_those_of_other_calls_of_models(
    server: FakeOpenAI, status: int, retryable: bool
) -> None:
    server.script(Failure(status))

    with pytest.raises(ModelFailed) as failed:
        rank(server)

    assert failed.value.retryable is retryable
    assert "canary" not in failed.value.message


def call_team(models: TeamModels, asked: RerankRequest) -> RerankResult:
    return asyncio.run(models.rerank(asked))


def test_team_repeats_a_failed_call_and_knows_the_price(server: FakeOpenAI) -> None:
    server.script(Failure(503), Scores(by_rain, usage={"total_tokens": 1_000_000}))
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    provider = config(server, max_retries=1, prices={"ranker": Price(2.0, 0.0)})
    result = call_team(TeamModels([provider], sleep=sleep), request())

    assert (result.usage, result.source) == (
        Usage(1_000_000, cost=2.0),
        ModelSource("acme", "ranker"),
    )
    assert waits == [0.5]


def test_chosen_model_stands_in_by_its_own_name(server: FakeOpenAI) -> None:
    server.script(Scores(by_rain))
    mapping = Mapping("siliconflow", "bge", "acme", "ranker")
    models = TeamModels([config(server)], mappings=[mapping])

    result = call_team(models, request(provider="langgenius/siliconflow/siliconflow", model="bge"))

    assert result.source == ModelSource("acme", "ranker")
    assert server.requests[0].body["model"] == "ranker"


@pytest.mark.parametrize(
    "mapping",
    [Mapping(DEFAULT, ANY_MODEL, "acme", "gpt-4"), Mapping("jina", ANY_MODEL, "acme", "gpt-4")],
)
def test_model_that_writes_texts_does_not_stand_in(server: FakeOpenAI, mapping: Mapping) -> None:
    models = TeamModels([config(server)], mappings=[mapping])

    with pytest.raises(RerankUnavailable, match="bge of jina is not connected"):
        call_team(models, request(provider="jina", model="bge"))

    assert not server.requests


@pytest.mark.parametrize(
    "asked", [{"provider": "jina", "model": "bge"}, {"provider": "", "model": ""}]
)
def test_default_reranking_model_stands_in_for_one_that_is_not_connected_and_for_none(
    server: FakeOpenAI, asked: dict[str, str]
) -> None:
    server.script(Scores(by_rain))
    models = TeamModels([config(server)], reranker=("Acme", "ranker"))

    result = call_team(models, request(**asked))

    assert result.source == ModelSource("acme", "ranker")


def test_connected_model_is_asked_before_the_default(server: FakeOpenAI) -> None:
    server.script(Scores(by_rain))
    models = TeamModels([config(server)], reranker=("acme", "ranker"))

    result = call_team(models, request(model="other"))

    assert result.source == ModelSource("acme", "other")


def test_without_any_model_the_reason_is_said() -> None:
    with pytest.raises(RerankUnavailable, match="no reranking model is chosen"):
        call_team(TeamModels([]), request(provider="", model=""))


def test_demo_provider_ranks_nothing() -> None:
    models = TeamModels([ProviderConfig("demo", kind=OFFLINE)])

    with pytest.raises(RerankUnavailable):
        call_team(models, request(provider="demo"))

    assert not hasattr(OfflineModels(), "rerank")
