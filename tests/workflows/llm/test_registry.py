"""Which provider answers when a document names one."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import astuple
from typing import Any

import pytest

from config import plugins
from tests.fakes.openai_server import Answer, Call, Failure, FakeOpenAI
from tests.support.cases import for_each
from workflows.engine.errors import ModelFailed, ModelNeeded
from workflows.engine.ports import (
    FallbackModel,
    Message,
    ModelChunk,
    ModelRequest,
    ModelSource,
    OfflinePort,
    Origin,
    Usage,
)
from workflows.engine.sub_workflows.spending import Spending, limit_model
from workflows.engine.sub_workflows.spending_limits import NO_LIMITS
from workflows.execution.ports.adapters import LazyModels
from workflows.llm.config import Price, ProviderConfig, normalize_name
from workflows.llm.directory import Mapping, ModelDirectory
from workflows.llm.offline import OfflineModels
from workflows.llm.openai_compatible import OpenAICompatible
from workflows.llm.presets import find_preset
from workflows.llm.registry import TeamModels, list_factories


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    from config.net import allow, clients

    with FakeOpenAI() as fake:
        monkeypatch.setattr(clients, "_load_allow_list", lambda: allow.parse_allowed((fake.allow,)))
        yield fake


def answer(port: Any, provider: str = "openai", model: str = "gpt-4") -> str:
    request = ModelRequest(provider, model, (Message("user", "Hi there"),), Origin("r", "n", "k"))

    async def collect() -> str:
        return "".join([chunk.text async for chunk in port.stream(request)])

    return asyncio.run(collect())


@pytest.mark.parametrize(
    ("written", "name"),
    [("langgenius/openai/openai", "openai"), ("OpenAI", "openai"), ("a/b/", "b"), ("x", "x")],
)
def test_provider_name_of_a_document_is_its_last_part(written: str, name: str) -> None:
    assert normalize_name(written) == name


@pytest.mark.parametrize("written", ["openai", "langgenius/openai/openai", "OpenAI"])
def test_request_goes_to_the_teams_provider_of_that_name(server: FakeOpenAI, written: str) -> None:
    models = TeamModels([ProviderConfig("openai", base_url=server.base_url, default_model="tiny")])

    assert answer(models, written) == "Hello from the fake."
    assert answer(models, written, model="") == "Hello from the fake."
    assert [request.body["model"] for request in server.requests] == ["gpt-4", "tiny"]


def test_provider_nobody_connected_is_answered_offline_and_labelled() -> None:
    assert "offline demo provider" in answer(TeamModels())


def test_provider_nobody_connected_is_named_when_nothing_may_stand_in() -> None:
    with pytest.raises(ModelFailed, match=r"'openai' is not connected.*under Models"):
        answer(TeamModels(fallback="error"))
    assert "offline demo provider" in answer(TeamModels(fallback="error"), "offline")


def test_port_is_the_providers_or_the_fallback() -> None:
    config = ProviderConfig("openai", api_key="k")

    assert isinstance(TeamModels([config]).get_port("a/openai"), OpenAICompatible)
    assert isinstance(TeamModels([config]).get_port("other"), OfflineModels)
    with pytest.raises(ModelFailed):
        TeamModels([config], fallback="error").get_port("other")


def test_well_known_provider_needs_no_address() -> None:
    assert ProviderConfig("langgenius/openai/openai").address == "https://api.openai.com/v1"
    assert ProviderConfig("acme").address == ""


@pytest.mark.parametrize(
    "written",
    [
        *("langgenius/siliconflow/siliconflow", "langgenius/volcengine_maas/volcengine_maas"),
        *("langgenius/gemini/google", "langgenius/tongyi/tongyi", "groq", "deepseek", "openrouter"),
    ],
)
def test_vendors_of_imported_documents_have_an_address_and_a_name(written: str) -> None:
    assert ProviderConfig(written).address.startswith("https://")
    assert find_preset(normalize_name(written)) is not None


def test_plugin_adds_a_kind() -> None:
    class Echo:
        def __init__(self, config: ProviderConfig) -> None:
            self.config = config

        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
            yield ModelChunk(text=f"{self.config.name} heard {request.messages[-1].text}")

    class Plugin:
        @plugins.hookimpl
        def model_providers(self) -> dict[str, Any]:
            return {"echo": Echo}

    plugin = Plugin()
    plugins.get_plugin_manager().register(plugin)
    try:
        assert set(list_factories()) == {"echo", "offline", "openai_compatible"}
        models = TeamModels([ProviderConfig("mine", kind="echo")])
        assert answer(models, "mine") == "mine heard Hi there"
    finally:
        plugins.get_plugin_manager().unregister(plugin)


def test_kind_of_a_plugin_that_is_gone_says_so() -> None:
    with pytest.raises(ModelFailed, match="type 'gone'"):
        answer(TeamModels([ProviderConfig("mine", kind="gone")]), "mine")


def test_request_that_names_no_provider_goes_to_the_default_model(server: FakeOpenAI) -> None:
    config = ProviderConfig("acme", base_url=server.base_url, default_model="tiny")
    default = Mapping("default", "", "acme", "")

    without_default = answer(TeamModels([config]), provider="", model="")
    requests_without_default = len(server.requests)
    connected = answer(TeamModels([config], mappings=[default]), provider="", model="")

    assert ("offline" in without_default, requests_without_default) == (True, 0)
    assert "offline" not in connected
    assert server.requests[-1].body["model"] == "tiny"


@for_each(
    "configs, mappings, named, params, is_offline",
    [
        ([], [], ("", ""), {}, True),
        ([], [], ("openai", "gpt-4"), {}, True),
        ([], [], ("", ""), {"offline_script": []}, False),
        ([ProviderConfig("acme")], [], ("", ""), {}, True),
        ([ProviderConfig("acme")], [], ("acme", "large"), {}, False),
        ([ProviderConfig("acme")], [Mapping("default", "", "acme", "")], ("", ""), {}, False),
        ([ProviderConfig("acme")], [Mapping("fallback", "", "acme", "")], ("x", "y"), {}, False),
    ],
)
def test_request_is_offline_if_neither_model_nor_script_would_answer(
    configs: list[ProviderConfig],
    mappings: list[Mapping],
    named: tuple[str, str],
    params: dict[str, Any],
    is_offline: bool,
) -> None:
    models = TeamModels(configs, mappings=mappings)
    request = ModelRequest(*named, (), Origin("r", "n", "k"), params=params)

    async def ask() -> list[bool]:
        ports = [models, LazyModels(lambda: models), limit_model(models, Spending(NO_LIMITS))]
        return [await port.is_offline(request) for port in ports if isinstance(port, OfflinePort)]

    assert asyncio.run(ask()) == [is_offline] * 3


@pytest.mark.parametrize(
    ("configs", "named", "advice"),
    [
        ([], ("default", "default"), "Connect one under Models."),
        ([ProviderConfig("acme")], ("default", "default"), "The default model is the offline demo"),
        ([ProviderConfig("acme")], ("", ""), "The default model is the offline demo model."),
        (
            [ProviderConfig("acme")],
            ("offline", "offline"),
            "This node uses the offline demo model.",
        ),
    ],
)
def test_task_for_a_model_says_why_the_offline_one_was_asked(
    configs: list[ProviderConfig], named: tuple[str, str], advice: str
) -> None:
    request = ModelRequest(
        *named, (Message("user", "Write a poem about cats"),), Origin("r", "n", "k")
    )

    async def collect() -> list[ModelChunk]:
        return [chunk async for chunk in TeamModels(configs).stream(request)]

    with pytest.raises(ModelNeeded, match=f"^{ModelNeeded.reason} {advice}") as failed:
        asyncio.run(collect())
    assert failed.value.source == ModelSource("offline", "offline")


def chunks_of(models: TeamModels, provider: str = "openai", model: str = "gpt-4o-mini") -> Any:
    request = ModelRequest(provider, model, (Message("user", "Hi there"),), Origin("r", "n", "k"))

    async def collect() -> list[ModelChunk]:
        return [chunk async for chunk in models.stream(request)]

    return asyncio.run(collect())


def own_model(server: FakeOpenAI, **options: Any) -> ProviderConfig:
    return ProviderConfig("ollama", base_url=server.base_url, default_model="tiny", **options)


DEFAULT = Mapping("default", "", "ollama", "tiny")


@for_each(
    "mappings, named, expected",
    [
        ([], ("openai", "gpt-4o-mini"), ("offline", "offline")),
        ([DEFAULT], ("openai", "gpt-4o-mini"), ("ollama", "tiny")),
        ([DEFAULT], ("default", "default"), ("ollama", "tiny")),
        ([DEFAULT], ("langgenius/openai/openai", "gpt-4"), ("ollama", "tiny")),
        ([DEFAULT], ("ollama", "large"), ("ollama", "large")),
        ([DEFAULT], ("offline", "offline"), ("offline", "offline")),
        (
            [DEFAULT, Mapping("openai", "gpt-4o-mini", "ollama", "large")],
            ("OpenAI", "gpt-4o-mini"),
            ("ollama", "large"),
        ),
        (
            [DEFAULT, Mapping("openai", "", "ollama", "large")],
            ("openai", "gpt-4o"),
            ("ollama", "large"),
        ),
        ([Mapping("openai", "", "gone", "large")], ("openai", "gpt-4o"), ("offline", "offline")),
    ],
)
def test_model_that_the_team_lacks_is_answered_by_its_mapping_or_the_default(
    mappings: list[Mapping], named: tuple[str, str], expected: tuple[str, str]
) -> None:
    directory = ModelDirectory([ProviderConfig("ollama", default_model="tiny")], mappings)

    resolution = directory.resolve(*named)

    assert (resolution.provider, resolution.model) == expected


def test_answer_says_which_model_gave_it(server: FakeOpenAI) -> None:
    models = TeamModels([own_model(server)], mappings=[DEFAULT])

    answered, offline = chunks_of(models)[-1], chunks_of(TeamModels())[-1]

    assert answered.source == ModelSource("ollama", "tiny")
    assert offline.source == ModelSource("offline", "offline")
    assert [request.body["model"] for request in server.requests] == ["tiny"]


def test_failure_says_which_model_was_asked(server: FakeOpenAI) -> None:
    server.script(Failure(401))

    with pytest.raises(ModelFailed) as failed:
        chunks_of(TeamModels([own_model(server)], mappings=[DEFAULT]))

    assert failed.value.source == ModelSource("ollama", "tiny")


@pytest.mark.parametrize(
    ("replies", "waits"),
    [
        ([Failure(429, retry_after=7), "Hello."], [7]),
        ([Failure(503), Answer("", usage=None), "Hello."], [0.5, 1]),
        ([Answer(calls=[Call("unasked")]), "Hello."], [0.5]),
    ],
)
def test_request_that_may_succeed_later_is_repeated(
    server: FakeOpenAI, replies: list[Any], waits: list[float]
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    server.script(*replies)
    models = TeamModels([own_model(server, max_retries=2)], mappings=[DEFAULT], sleep=sleep)

    assert "".join(chunk.text for chunk in chunks_of(models)) == "Hello."
    assert waited == waits


@pytest.mark.parametrize(
    ("reply", "retries", "requests", "message"),
    [
        (Failure(429, retry_after=3600), 2, 1, "rate limit"),
        (Failure(401), 2, 1, "credential"),
        (Failure(503), 0, 1, "server error"),
        (Answer("half of the", cut_after=3), 2, 1, "cut off"),  # after its first word
        (Answer(""), 1, 2, "empty answer"),
        (Answer("", reasoning="Hm.", finish_reason="length"), 2, 1, "Raise max_tokens"),
    ],
)
def test_request_is_not_repeated_in_vain(
    server: FakeOpenAI, reply: Any, retries: int, requests: int, message: str
) -> None:
    async def sleep(_seconds: float) -> None:
        pass

    server.script(reply)
    models = TeamModels([own_model(server, max_retries=retries)], mappings=[DEFAULT], sleep=sleep)

    with pytest.raises(ModelFailed, match=message):
        chunks_of(models)

    assert len(server.requests) == requests


def test_limit_of_a_provider_is_sent_unless_the_request_has_one(server: FakeOpenAI) -> None:
    models = TeamModels([own_model(server, max_tokens=256)], mappings=[DEFAULT])
    own = ModelRequest(
        "ollama", "tiny", (Message("user", "Hi"),), Origin("r", "n", "k"), params={"max_tokens": 9}
    )

    async def ask() -> None:
        async for _ in models.stream(own):
            pass

    chunks_of(models)
    asyncio.run(ask())

    assert [request.body["max_tokens"] for request in server.requests] == [256, 9]


CHEAP = ProviderConfig("cheap", prices={"*": Price(1.0, 2.0)})
DEAR = ProviderConfig("dear", prices={"*": Price(10.0, 20.0)}, max_tokens=300)
FREE = ProviderConfig("free", max_tokens=100)


@for_each(
    "provider, params, fallback, expected",
    [
        ("cheap", {}, None, None),  # nothing says how long an answer may become
        ("cheap", {"max_tokens": 200}, None, Usage(14, 200, 0.000414)),
        ("cheap", {"max_completion_tokens": 200}, None, Usage(14, 200, 0.000414)),
        ("dear", {}, None, Usage(14, 300, 0.00614)),
        ("free", {}, None, Usage(14, 100, 0.0)),
        # Whichever of the two answers, it costs no more.
        ("cheap", {"max_tokens": 200}, FallbackModel("dear", "m"), Usage(14, 200, 0.00414)),
        ("dear", {}, FallbackModel("cheap", "m"), None),
        ("nobody", {"max_tokens": 200}, None, None),
    ],
)
def test_highest_cost_of_a_call_is_estimated_from_the_length_of_its_answer(
    provider: str, params: dict[str, Any], fallback: FallbackModel | None, expected: Usage | None
) -> None:
    models = TeamModels([CHEAP, DEAR, FREE])
    messages = (Message("user", "x" * 40),)
    request = ModelRequest(
        provider, "m", messages, Origin("r", "n", "k"), params=params, fallback=fallback
    )

    usage = asyncio.run(models.estimate(request))

    assert (usage and astuple(usage)) == (expected and pytest.approx(astuple(expected)))
