"""What memory nodes let their authors choose: whose memory, and whether age counts."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.core.records import StoreParams
from memory.providers.in_memory import InMemoryProvider
from tests.support.cases import for_each
from tests.support.documents import document, end, llm, node, start
from tests.support.engine import EchoModels
from workflows.engine.errors import DocumentInvalid
from workflows.engine.kinds import Field
from workflows.engine.language.document import Document
from workflows.engine.nodes import NODE_KINDS
from workflows.engine.runtime.runner import WorkflowRunner


NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
USER = {"user_id": "ana"}


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


async def two_ages() -> InMemoryProvider:
    """The same words twice, a year apart; the older entry is a little closer to what is asked."""
    clock = Clock()
    memory = InMemoryProvider(clock=clock)
    clock.now = NOW - timedelta(days=365)
    memory.store(StoreParams("user:ana", "old", value="Lives in Bern"))
    clock.now = NOW
    memory.store(StoreParams("user:ana", "new", value="Lives in Rome now"))
    return memory


def path(*nodes: Any) -> Document:
    ids = [made.id for made in nodes]
    return document(nodes, [f"{a} -> {b}" for a, b in itertools.pairwise(ids)])


def asking(kind: str, **more: Any) -> Document:
    if kind == "llm":
        held = {"enabled": True, "scope": "user", "query_selector": ["start", "q"], "top_k": 1}
        return path(start("q"), llm("x", ("user", "go"), enhanced_memory={**held, **more}), end())
    if kind == "agent":
        held = {"enabled": True, "scope": "user", "query_selector": ["start", "q"], **more}
        agent = node("x", "agent", model={"provider": "p", "name": "m"}, instruction="Help.",
                     query="{{#start.q#}}", enhanced_memory=held)  # fmt: skip
        return path(start("q"), agent, end())
    words = {"memory-recall": "query_selector", "memory-retrieval": "topic_selector"}
    data = {"scope": "user", words[kind]: ["start", "q"], "top_k": 1, **more}
    return path(start("q"), node("x", kind, **data), end())


@pytest.mark.parametrize("kind", ["memory-recall", "memory-retrieval", "llm"])
@pytest.mark.parametrize(("days", "first"), [(None, "old"), (30, "new")])
async def test_newer_is_preferred_where_a_node_asks_for_it(
    kind: str, days: float | None, first: str
) -> None:
    more = {} if days is None else {"recency_days": days}
    runner = WorkflowRunner(asking(kind, **more), memory=await two_ages(), models=EchoModels())

    handle = runner.start(inputs={"q": "lives in"}, system=USER)
    events = [event async for event in handle.events()]

    recalled = [event for event in events if event.name == "memory_recalled"]
    assert [[hit["key"] for hit in event.entries] for event in recalled] == [[first]]


@for_each("kind", ["memory-recall", "memory-retrieval", "llm"])
@for_each("days", [0, -1, 36_501, "soon"])
def test_days_that_are_none_are_refused_at_their_field(kind: str, days: Any) -> None:
    with pytest.raises(DocumentInvalid) as refused:
        WorkflowRunner(
            asking(kind, recency_days=days), memory=InMemoryProvider(), models=EchoModels()
        )

    assert any("recency_days" in str(one.field) for one in refused.value.problems)


PRINTERS = {"toner": "the printer needs toner", "office": "the printer of the office"}


async def recall_printers(kind: str, question: str, **more: Any) -> Any:
    memory = InMemoryProvider()
    for key, text in PRINTERS.items():
        memory.store(StoreParams("user:ana", key, value=text))
    handle = WorkflowRunner(
        asking(kind, top_k=5, **more), memory=memory, models=EchoModels()
    ).start(inputs={"q": question}, system={"user_id": "ana"})
    events = [event async for event in handle.events()]
    assert (await handle.result()).is_successful
    [recalled] = [event for event in events if event.name == "memory_recalled"]
    return recalled


@pytest.mark.parametrize("kind", ["memory-recall", "memory-retrieval", "llm"])
async def test_min_score_leaves_out_what_meets_less_of_the_question(kind: str) -> None:
    every = await recall_printers(kind, "printer toner")
    some = await recall_printers(kind, "printer toner", min_score=0.9)

    assert {hit["key"] for hit in every.entries} == {"toner", "office"}
    assert [(hit["key"], hit["score"]) for hit in some.entries] == [("toner", 1.0)]


@pytest.mark.parametrize("kind", ["memory-recall", "memory-retrieval", "llm"])
async def test_question_that_nothing_meets_is_no_error(kind: str) -> None:
    recalled = await recall_printers(kind, "Which printer did Napoleon use", min_score=0.5)

    assert recalled.entries == []


@for_each("kind", ["memory-recall", "memory-retrieval", "llm", "agent"])
@for_each("min_score", [-0.1, 1.1, "much"])
def test_min_score_that_is_none_is_refused_at_its_field(kind: str, min_score: Any) -> None:
    with pytest.raises(DocumentInvalid) as refused:
        WorkflowRunner(
            asking(kind, min_score=min_score), memory=InMemoryProvider(), models=EchoModels()
        )

    assert any("min_score" in str(one.field) for one in refused.value.problems)


@pytest.mark.parametrize("kind", ["memory-recall", "memory-retrieval", "llm", "agent"])
def test_forms_offer_the_least_relevance_with_a_help(kind: str) -> None:
    fields = next(one for one in NODE_KINDS if one.name == kind).fields
    within = [*fields, *(inner for field in fields for inner in field.fields)]

    [field] = [field for field in within if field.name == "min_score"]
    assert (field.low, field.high) == (0, 1)
    assert field.help


@pytest.mark.parametrize("kind", ["memory-recall", "memory-store", "memory-delete", "llm"])
def test_forms_offer_the_workflows_own_memory(kind: str) -> None:
    fields = next(one for one in NODE_KINDS if one.name == kind).fields

    assert [word for word, _ in scope_field(fields).choices] == [
        "conversation", "user", "global", "workflow", "run",
    ]  # fmt: skip


def scope_field(fields: tuple[Field, ...]) -> Field:
    within = [*fields, *(inner for field in fields for inner in field.fields)]
    return next(field for field in within if field.name == "scope")
