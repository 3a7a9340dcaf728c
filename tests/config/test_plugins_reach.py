"""A plug-in really reaches its use: one run goes through a node, a scope and a model of its own.

The node is the one of docs/extend/add-a-node.md, word for word.
"""

import re
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from accounts.tenancy import tenant
from config.plugins import PluginConflict, get_plugin_manager, hookimpl
from memory.core import scopes
from memory.core.errors import InvalidInput
from memory.core.policy import MemorySecurityPolicy
from memory.core.records import MemoryQuery
from memory.core.scope_kinds import ScopeKind
from memory.models import Entry, Namespace
from memory.plugins import make_provider, plug_in_scopes
from memory.providers import PROVIDERS
from memory.providers.base import MemoryProvider
from memory.providers.in_memory import InMemoryProvider
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.execution.kinds import load_kinds
from workflows.execution.worker import Worker
from workflows.llm.config import ProviderConfig
from workflows.llm.offline import OfflineModels
from workflows.models import Run
from workflows.services.credentials import create_provider
from workflows.services.runs.runs import start_run


HOWTO = Path(__file__).parents[2] / "docs" / "extend" / "add-a-node.md"


def example() -> Any:
    """Return the how-to's module, as a package would have it: the kind, and the hook that hands it in."""
    kind, hook, *_ = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.DOTALL)
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(kind + hook, str(HOWTO), "exec"), namespace)
    return namespace


class Echo:
    def __init__(self, config: ProviderConfig) -> None:
        self._name = config.name

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        yield ModelChunk(f"{self._name} heard {request.messages[-1].text}")
        yield ModelChunk("", finish_reason="stop", usage=Usage(1, 1))


class Remembering(InMemoryProvider):
    pass


class Plugin:
    def __init__(self) -> None:
        self._node_kinds = example()["node_kinds"]

    @hookimpl
    def node_kinds(self) -> Any:
        return self._node_kinds()

    @hookimpl
    def memory_providers(self) -> Any:
        return {"remembering": Remembering}

    @hookimpl
    def model_providers(self) -> Any:
        return {"echo": Echo}

    @hookimpl
    def scopes(self) -> Any:
        def department(identity: Any) -> tuple[str, ...]:
            return (scopes.require_variable("department", "app_id", identity),)

        return {"department": ScopeKind("department", "dept", department, label="The department")}


@pytest.fixture
def plugin() -> Iterator[Plugin]:
    added = Plugin()
    get_plugin_manager().register(added)
    plug_in_scopes()
    load_kinds.cache_clear()
    yield added
    get_plugin_manager().unregister(added)
    plug_in_scopes()
    load_kinds.cache_clear()


def test_memory_provider_of_a_plugin_is_made_by_name(plugin: Plugin) -> None:
    provider = make_provider("remembering")

    assert isinstance(provider, Remembering)
    assert isinstance(provider, MemoryProvider)


async def test_workflow_runs_with_the_memory_of_a_plugin(plugin: Plugin) -> None:
    provider = make_provider("remembering", policy=MemorySecurityPolicy(max_value_bytes=5))
    runner = WorkflowRunner(
        {"version": "0.1.0", "nodes": PLAIN, "edges": _chain(PLAIN)},
        memory=provider,
        models=OfflineModels(),
    )

    fits = await runner.run(inputs={"text": "tea"}, system={"user_id": "mia"})
    large = await runner.run(inputs={"text": "a long text"}, system={"user_id": "mia"})

    assert fits.is_successful, fits.error
    assert [one["value"] for one in fits.outputs["found"]] == ["tea"]
    assert [entry.value for entry in provider.recall(MemoryQuery("user:mia"))] == ["tea"]
    assert "5 are allowed" in (large.error or "")


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_provider_of_a_plugin_takes_no_built_in_name(name: str) -> None:
    class Greedy:
        @hookimpl
        def memory_providers(self) -> Any:
            return {name: Remembering}

    added = Greedy()
    get_plugin_manager().register(added)
    try:
        with pytest.raises(InvalidInput, match=f"{name!r}, which is built in"):
            make_provider(name)
    finally:
        get_plugin_manager().unregister(added)


def test_two_plugins_of_one_provider_are_a_conflict(plugin: Plugin) -> None:
    class Second:
        @hookimpl
        def memory_providers(self) -> Any:
            return {"remembering": Remembering}

    added = Second()
    get_plugin_manager().register(added)
    try:
        with pytest.raises(PluginConflict, match="'remembering'"):
            make_provider("remembering")
    finally:
        get_plugin_manager().unregister(added)


def test_provider_that_nobody_offers_is_named_with_those_there_are(plugin: Plugin) -> None:
    with pytest.raises(InvalidInput, match="http, in_memory, postgres, redis, remembering"):
        make_provider("nothing")


@pytest.mark.parametrize("name", ["http", "in_memory", "postgres", "redis"])
def test_built_in_provider_is_made_by_name(name: str) -> None:
    made = make_provider(name, **OPTIONS[name])

    assert isinstance(made, MemoryProvider)


OPTIONS: dict[str, dict[str, Any]] = {
    "http": {"url": "https://memory.example", "key": "mf_key"},
    "in_memory": {},
    "postgres": {"team_id": uuid4()},
    "redis": {"url": "redis://127.0.0.1:6379/0", "space": "team"},
}


def test_scope_of_a_plugin_is_offered_in_the_forms_of_memory_nodes(plugin: Plugin) -> None:
    offered = {name: load_kinds()[name] for name in load_kinds()}
    choices = {
        name: dict(next(f for f in offered[name].fields if f.name == "scope").choices)
        for name in ("memory-recall", "memory-store")
    }

    assert {one["department"] for one in choices.values()} == {"The department"}
    assert all("user" in one for one in choices.values())
    section = next(f for f in offered["llm"].fields if f.name == "enhanced_memory")
    assert "department" in dict(next(f for f in section.fields if f.name == "scope").choices)


def _node(node_id: str, kind: str, /, **data: Any) -> dict[str, Any]:
    return {"id": node_id, "data": {"type": kind, "title": node_id, **data}}


def _chain(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"id": str(n), "source": a["id"], "target": b["id"]}
        for n, (a, b) in enumerate(pairwise(nodes))
    ]


NODES = [
    _node("start", "start", variables=[{"variable": "text", "type": "string"}]),
    _node("shout", "shout", text_selector=["start", "text"]),
    _node(
        "store", "memory-store", scope="department", key="motto", value_selector=["shout", "text"]
    ),
    _node("recall", "memory-recall", scope="department", key="motto"),
    _node(
        "llm",
        "llm",
        model={"provider": "mine", "name": "m", "mode": "chat"},
        prompt_template=[{"role": "user", "text": "{{#shout.text#}}"}],
    ),
    _node(
        "end",
        "end",
        outputs=[
            {"variable": "said", "value_selector": ["llm", "text"]},
            {"variable": "found", "value_selector": ["recall", "results"]},
        ],
    ),
]
PLAIN = [
    _node("start", "start", variables=[{"variable": "text", "type": "string"}]),
    _node("store", "memory-store", scope="user", key="said", value_selector=["start", "text"]),
    _node("recall", "memory-recall", scope="user"),
    _node("end", "end", outputs=[{"variable": "found", "value_selector": ["recall", "results"]}]),
]
DOCUMENT = {
    "version": "0.1.0",
    "nodes": NODES,
    "edges": _chain(NODES),
}


@pytest.mark.django_db(transaction=True)
def test_run_goes_through_node_scope_and_model_of_a_plugin(
    plugin: Plugin, cast: Cast, settings: Any, valkey_url: str
) -> None:
    settings.REDIS_URL = valkey_url
    alice = cast.alice
    create_provider(
        alice.principal,
        team_id=alice.team.pk,
        name="mine",
        kind="echo",
        base_url="https://models.example/v1",
    )
    workflow = make_workflow(alice, "Plugged", DOCUMENT)
    run = start_run(alice.principal, workflow=workflow, inputs={"text": "hello"})

    worker = Worker(capacity=1)
    try:
        worker.execute_run(run.pk)
    finally:
        worker.stop(0)

    with tenant([alice.team.pk]):
        row = Run.objects.unscoped().get(pk=run.pk)
        # beside it lies what the run is about
        kept = Entry.objects.unscoped().exclude(namespace__text__startswith="ai:workflow:")
        entry = kept.select_related("namespace").get()
        seen = list(Namespace.objects.visible_to(alice.principal))
    assert (row.status, row.error) == ("succeeded", "")
    assert row.outputs["said"] == "mine heard HELLO"
    assert [one["value"] for one in row.outputs["found"]] == ["HELLO"]
    assert entry.namespace.text == f"dept:{workflow.pk}"
    assert seen == []  # the strictest default: runs alone, not even the owner of the team
