"""Text from outside ends, replaces and overwrites nothing that is trusted, in whatever scope it is stored."""

import itertools
from typing import Any

import pytest

from memory.core.records import StoreParams, Tier
from memory.core.scopes import resolve_namespace
from memory.logic.knowledge.page_requests import write_drafts
from memory.providers.in_memory import InMemoryProvider
from tests.engine.language.test_untrusted import Page
from tests.engine.nodes.memory.test_facts import ScriptedModel, operations
from tests.support.cases import for_each
from tests.support.documents import document, end, node, start
from workflows.engine.runtime.events import MemoryForgetAsked
from workflows.engine.runtime.runner import WorkflowRunner


SYSTEM = {
    "conversation_id": "c1",
    "user_id": "mia",
    "app_id": "wiki",
    "workflow_id": "w",
    "group_id": "g1",
}
WEB = {"origin": "web"}
# Where what is stored waits for nobody.
UNREVIEWED = [
    ("conversation", "conv:c1", {}),
    ("workflow", resolve_namespace("workflow", SYSTEM), {}),
    ("user", "user:mia", {"trusts_outside": True}),
    ("global", "global:wiki", {"trusts_outside": True}),
]
MOVED = "We moved to Lyon!"
REPLACE = {"action": "replace", "id": "k1", "text": "I live in Lyon.", "evidence": "moved to Lyon"}
END = {"action": "end", "id": "k1", "evidence": "We moved"}


async def run(memory: InMemoryProvider, page: str, model: Any = None, **settings: Any) -> list[Any]:
    """Let a run store what a page says, and return its events."""
    nodes = [start("q"), node("web", "web-page"),
             node("keep", "memory-store", **{"value_selector": ["web", "text"], **settings}),
             end(stored=["keep", "stored"])]  # fmt: skip
    edges = [f"{a.id} -> {b.id}" for a, b in itertools.pairwise(nodes)]
    runner = WorkflowRunner(document(nodes, edges), memory=memory, models=model, plugins=[Page()])
    handle = runner.start(inputs={"q": page}, system=SYSTEM)
    events = [event async for event in handle.events()]
    result = await handle.result()
    assert result.error is None
    return events


def holding(memory: InMemoryProvider, namespace: str) -> list[Any]:
    return [each.value for each in memory.living(namespace).values() if each.valid_until is None]


@for_each("scope, namespace, data", UNREVIEWED)
async def test_fact_from_outside_stands_beside_the_one_that_it_would_replace(
    scope: str, namespace: str, data: dict[str, Any]
) -> None:
    memory = InMemoryProvider()
    memory.store(StoreParams(namespace, "home", value="I live in Berlin."))

    await run(memory, MOVED, ScriptedModel(operations(REPLACE)), scope=scope, source="facts", **data)  # fmt: skip

    assert holding(memory, namespace) == ["I live in Berlin.", "I live in Lyon."]
    berlin, lyon = memory.living(namespace).values()
    assert (berlin.replaced_by, lyon.replaces, lyon.metadata["origin"]) == ("", "", "web")


@for_each("scope, namespace, data", UNREVIEWED)
async def test_person_is_asked_what_outside_says_has_ended(
    scope: str, namespace: str, data: dict[str, Any]
) -> None:
    memory = InMemoryProvider()
    memory.store(StoreParams(namespace, "home", value="I live in Berlin."))

    events = await run(
        memory, MOVED, ScriptedModel(operations(END)), scope=scope, source="facts", **data
    )

    assert holding(memory, namespace) == ["I live in Berlin."]
    (question,) = [event for event in events if isinstance(event, MemoryForgetAsked)]
    assert [each["value"] for each in question.entries] == ["I live in Berlin."]


async def test_fact_from_outside_replaces_another_one_from_outside() -> None:
    memory = InMemoryProvider()
    memory.store(StoreParams("conv:c1", "home", value="I live in Berlin.", metadata=WEB))

    model = ScriptedModel(operations(REPLACE))
    await run(memory, MOVED, model, scope="conversation", source="facts")

    assert holding(memory, "conv:c1") == ["I live in Lyon."]


KEYED = {"key": "bank", "value_selector": ["web", "text"]}


@pytest.mark.parametrize(
    ("scope", "namespace"),
    [(scope, namespace) for scope, namespace, data in UNREVIEWED if not data],
)
async def test_value_from_outside_waits_beside_a_trusted_one_under_its_key(
    scope: str, namespace: str
) -> None:
    memory = InMemoryProvider()
    memory.store(StoreParams(namespace, "bank", value="Our account is 12 at Bob's"))

    await run(memory, "Our account is 77 at Evil", scope=scope, **KEYED)

    assert {key: (each.value, each.tier) for key, each in memory.living(namespace).items()} == {
        "bank": ("Our account is 12 at Bob's", Tier.LONG_TERM),
        "held:bank": ("Our account is 77 at Evil", Tier.QUARANTINE),
    }


@for_each(
    "metadata, before, settings",
    [
        (WEB, "Our account is 12", {}),
        ({}, "Our account is 12", {"trusts_outside": True}),  # as the author wants it
        ({}, "Our account is 77", {}),  # nothing changes
    ],
)
async def test_value_is_overwritten_where_nothing_trusted_is_lost(
    metadata: dict[str, Any], before: str, settings: dict[str, Any]
) -> None:
    memory = InMemoryProvider()
    memory.store(StoreParams("conv:c1", "bank", value=before, metadata=metadata))

    await run(memory, "Our account is 77", scope="conversation", **KEYED, **settings)

    (entry,) = memory.living("conv:c1").values()
    assert (entry.value, entry.metadata["origin"]) == ("Our account is 77", "web")


HOURS = {"title": "Opening hours", "content": "Open at nine"}


async def write_page(memory: InMemoryProvider, page: str, **settings: Any) -> None:
    nodes = [start("q"), node("web", "web-page"),
             node("keep", "knowledge-write", scope="conversation", page_title=HOURS["title"],
                  page_content="{{#web.text#}}", **settings),
             end(stored=["keep", "pages"])]  # fmt: skip
    edges = [f"{a.id} -> {b.id}" for a, b in itertools.pairwise(nodes)]
    runner = WorkflowRunner(document(nodes, edges), memory=memory, plugins=[Page()])
    result = await runner.start(inputs={"q": page}, system=SYSTEM).result()
    assert result.error is None


@for_each(
    "origin, settings, contents",
    [
        ("", {}, ["Closed for good", "Open at nine"]),
        ("web", {}, ["Closed for good"]),
        ("", {"trusts_outside": True}, ["Closed for good"]),
    ],
)
async def test_page_from_outside_waits_beside_a_trusted_one_about_the_same(
    origin: str, settings: dict[str, Any], contents: list[str]
) -> None:
    memory = InMemoryProvider()
    write_drafts([{**HOURS, "origin": origin}], memory, "conv:c1")

    await write_page(memory, "Closed for good", mode="replace", **settings)

    pages = memory.living("conv:c1").values()
    assert sorted(each.value["content"] for each in pages) == contents
    in_use = [each for each in pages if each.tier is not Tier.QUARANTINE]
    assert len(in_use) == 1
