"""The fallback model: when it is asked, which one it is, and what is told about the one before."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.openai_server import Answer, Failure, FakeOpenAI
from tests.support.documents import document, end, node, start
from workflows.engine.errors import ModelFailed
from workflows.engine.fallback_model import NO_FALLBACK, FallbackModel
from workflows.engine.ports import (
    FailedModel,
    Message,
    ModelChunk,
    ModelRequest,
    ModelSource,
    Origin,
)
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.llm.config import DEFAULT, FALLBACK, ProviderConfig
from workflows.llm.directory import Mapping
from workflows.llm.registry import TeamModels


TEAM_FALLBACK = Mapping(FALLBACK, "", "second", "spare")
DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    from config.net import allow, clients

    with FakeOpenAI() as fake:
        allowed = allow.parse_allowed((fake.allow, "127.0.0.1:9"))
        monkeypatch.setattr(clients, "_load_allow_list", lambda: allowed)
        yield fake


class Reports:
    """What was told about the calls of each provider: whether it answered."""

    def __init__(self) -> None:
        self.told: list[tuple[str, bool]] = []

    async def __call__(
        self, config: ProviderConfig, failure: ModelFailed | None, added_model: str
    ) -> None:
        self.told.append((config.name, failure is None))


def build_models(
    server: FakeOpenAI, *mappings: Mapping, first: str = "", **more: Any
) -> TeamModels:
    configs = [
        ProviderConfig("first", base_url=first or server.base_url, default_model="tiny"),
        ProviderConfig("second", base_url=server.base_url, default_model="spare"),
        ProviderConfig("third", base_url=server.base_url, default_model="other"),
    ]
    return TeamModels(configs, mappings=mappings, **more)


def ask(
    models: TeamModels,
    provider: str = "first",
    model: str = "tiny",
    fallback: FallbackModel | None = None,
) -> list[ModelChunk]:
    request = ModelRequest(
        provider, model, (Message("user", "Hi"),), Origin("r", "n", "k"), fallback=fallback
    )

    async def collect() -> list[ModelChunk]:
        return [chunk async for chunk in models.stream(request)]

    return asyncio.run(collect())


def text_of(chunks: list[ModelChunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Failure(401), "first rejected the credential. Check the API key."),
        (Failure(402), "first reports that the account has no credit left."),
        (Failure(404), "first doesn't have the model 'tiny', or the base URL is wrong."),
        (Failure(429, retry_after=30), "The rate limit of first was reached. Retry after 30 s."),
        (Failure(503), "first had a server error (status 503)."),
    ],
)
def test_teams_fallback_answers_for_a_model_that_refuses(
    server: FakeOpenAI, failure: Failure, error: str
) -> None:
    server.script(failure, "Hello from the spare.")

    chunks = ask(build_models(server, TEAM_FALLBACK))

    assert text_of(chunks) == "Hello from the spare."
    assert chunks[-1].source == ModelSource(
        "second", "spare", failed=(FailedModel("first", "tiny", error),)
    )
    assert [request.body["model"] for request in server.requests] == ["tiny", "spare"]


def test_fallback_answers_for_a_provider_that_cannot_be_reached(server: FakeOpenAI) -> None:
    reports = Reports()
    models = build_models(server, TEAM_FALLBACK, first=DEAD, report=reports)

    source = ask(models)[-1].source

    assert source is not None
    assert (source.provider, source.failed[0].provider) == ("second", "first")
    assert source.failed[0].error.startswith("first isn't responding at http://127.0.0.1:9/v1")
    assert reports.told == [("first", False), ("second", True)]


@pytest.mark.parametrize(
    ("fallback", "asked"),
    [
        (None, ["tiny", "spare"]),
        (FallbackModel("third"), ["tiny", "other"]),
        (FallbackModel("third", "large"), ["tiny", "large"]),
        (FallbackModel(NO_FALLBACK), ["tiny"]),
        (FallbackModel("first", "tiny"), ["tiny"]),  # the same one
        (FallbackModel("offline"), ["tiny"]),
    ],
)
def test_node_may_name_another_fallback_or_none(
    server: FakeOpenAI, fallback: FallbackModel | None, asked: list[str]
) -> None:
    server.script(Failure(401), Failure(401))

    with pytest.raises(ModelFailed):
        ask(build_models(server, TEAM_FALLBACK), fallback=fallback)

    assert [request.body["model"] for request in server.requests] == asked


def test_failure_of_both_tells_of_both_and_may_pass_if_one_may(server: FakeOpenAI) -> None:
    server.script(Failure(503), Failure(401))

    with pytest.raises(ModelFailed, match="second rejected the credential") as failed:
        ask(build_models(server, TEAM_FALLBACK))

    assert failed.value.retryable
    assert failed.value.source.failed[0].error == "first had a server error (status 503)."


def test_answer_that_broke_off_is_not_continued_by_another_model(server: FakeOpenAI) -> None:
    server.script(Answer("half of the", cut_after=3))

    with pytest.raises(ModelFailed, match="cut off"):
        ask(build_models(server, TEAM_FALLBACK))

    assert len(server.requests) == 1


def test_model_that_is_not_connected_is_answered_by_the_fallback(server: FakeOpenAI) -> None:
    chunks = ask(build_models(server, TEAM_FALLBACK), "langgenius/openai/openai", "gpt-5")

    source = chunks[-1].source
    assert source is not None
    assert (source.model, source.failed[0].provider, source.failed[0].model) == (
        "spare",
        "openai",
        "gpt-5",
    )
    assert "is not connected" in source.failed[0].error


@pytest.mark.parametrize("provider", ["offline", DEFAULT, ""])
def test_offline_model_that_was_chosen_needs_no_fallback(server: FakeOpenAI, provider: str) -> None:
    chunks = ask(build_models(server, TEAM_FALLBACK), provider, "")

    assert chunks[-1].source == ModelSource("offline", "offline")
    assert server.requests == []


def test_every_call_reports_once_how_it_ended(server: FakeOpenAI) -> None:
    async def sleep(_seconds: float) -> None:
        pass

    reports = Reports()
    configs = [ProviderConfig("first", base_url=server.base_url, max_retries=2)]
    models = TeamModels(configs, report=reports, sleep=sleep)
    server.script(Failure(503), "Hello.")

    ask(models)

    assert reports.told == [("first", True)]


async def run_document(models: TeamModels, kind: str, **data: Any) -> Any:
    """Return the inputs of the step of one node that asks a model, as the run records them."""
    model = {"provider": "first", "name": "tiny", "mode": "chat", **data.pop("model", {})}
    asking = node("n", kind, model=model, **data)
    made = document([start("q"), asking, end(text=["n", "text"])], ["start -> n", "n -> end"])
    result = await WorkflowRunner(made, models=models).run(inputs={"q": "Hi"})
    assert result.outputs == {"text": "Hello from the spare."}
    [step] = [step for step in result.steps if step.key.node_id == "n"]
    return step.inputs["model"]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("llm", {"prompt_template": [{"role": "user", "text": "{{#start.q#}}"}]}),
        ("agent", {"query": "{{#start.q#}}"}),
    ],
)
@pytest.mark.parametrize(
    ("fallback", "answered"),
    [({}, "spare"), ({"fallback": {"provider": "third", "name": "large"}}, "large")],
)
def test_step_records_which_model_answered_and_which_failed_before(
    server: FakeOpenAI, kind: str, data: dict[str, Any], fallback: Any, answered: str
) -> None:
    server.script(Failure(401), "Hello from the spare.")
    models = build_models(server, TEAM_FALLBACK)

    recorded = asyncio.run(run_document(models, kind, model=fallback, **data))

    assert recorded["name"] == answered
    assert recorded["requested"] == {"provider": "first", "name": "tiny"}
    [failed] = recorded["failed"]
    assert (failed["provider"], failed["name"]) == ("first", "tiny")
    assert "credential" in failed["error"]
