"""Which provider answers when a document names one."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from config import plugins
from tests.fakes.openai_server import FakeOpenAI
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import Message, ModelChunk, ModelRequest, Origin
from workflows.llm.config import ProviderConfig, normalize_name
from workflows.llm.offline import OfflineModels
from workflows.llm.openai_compatible import OpenAICompatible
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


def test_request_that_names_no_provider_goes_to_a_connected_one(server: FakeOpenAI) -> None:
    config = ProviderConfig("acme", base_url=server.base_url, default_model="tiny")

    connected = answer(TeamModels([config]), provider="", model="")
    offline = answer(TeamModels([]), provider="", model="")

    assert "offline" in offline
    assert "offline" not in connected
    assert server.requests[-1].body["model"] == "tiny"
