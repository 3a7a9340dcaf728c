"""The memory-retrieval node: seed 2 step by step, with the in-memory provider."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from memory.core.errors import AccessDenied, ProviderError
from memory.core.records import MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.providers.in_memory import InMemoryProvider
from tests.support.documents import document, end, llm, node, start
from tests.support.engine import EchoModels
from workflows.engine.language.document import Document
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds
from workflows.engine.nodes.memory import memory_retrieval
from workflows.engine.runtime.events import (
    Event,
    MemoryRecalled,
    MemoryRetrievalError,
    NodeStateChange,
)
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus


SYSTEM = {"workflow_id": "wf", "group_id": "g1", "user_id": "mia", "conversation_id": "c1"}
HERE = "ai:memory:wf:g1"


def retrieval(**data: Any) -> Any:
    return node("history", "memory-retrieval", topic_selector=["start", "topic"], **data)


def path(*nodes: Any) -> Document:
    ids = [made.id for made in nodes]
    return document(nodes, [f"{a} -> {b}" for a, b in itertools.pairwise(ids)])


def asking(**data: Any) -> Document:
    made = retrieval(**data)
    return path(start("topic", "content", "document", "group"), made,
                end(o=["history", "history_context"]))  # fmt: skip


async def keep(
    memory: InMemoryProvider, *values: Any, tier: Tier = Tier.LONG_TERM, at: str = HERE
) -> None:
    for value in values:
        memory.store(StoreParams(at, f"{tier}-{value}"[:300], value=value, tier=tier))


async def ask(
    made: Document, memory: Any, inputs: dict[str, Any], **system: Any
) -> tuple[RunResult, Sequence[Event]]:
    handle = WorkflowRunner(made, memory=memory).start(inputs=inputs, system={**SYSTEM, **system})
    events = [event async for event in handle.events()]
    return await handle.result(), events


def of_node(result: RunResult) -> dict[str, Any]:
    step = next(step for step in result.steps if step.key.node_id == "history")
    return dict(step.outputs)


async def test_working_entries_come_first_then_long_term_by_score() -> None:
    """seed 2, priority and path; injection: headings and relevance."""
    memory = InMemoryProvider()
    await keep(memory, "Alice likes green tea", "Bob plays chess")
    await keep(memory, "Today we met at noon", "The room was cold", tier=Tier.WORKING)

    result, _ = await ask(asking(), memory, {"topic": "tea"})

    lines = result.outputs["o"].splitlines()
    assert lines[0] == "## History"
    assert lines[2:4] == ["### Record 1 (relevance: 1.00)", "The room was cold"]
    assert lines[5:7] == ["### Record 2 (relevance: 1.00)", "Today we met at noon"]
    assert lines[8].startswith("### Record 3 (relevance: ")
    assert lines[9] == "Alice likes green tea"
    assert len(lines) == 10


async def test_only_the_ten_newest_of_working_memory_are_taken() -> None:
    """seed 2, priority and path: the newest 10, relevance fixed at 1.0."""
    memory = InMemoryProvider()
    await keep(memory, *(f"step number {n} done" for n in range(12)), tier=Tier.WORKING)

    result, _ = await ask(asking(), memory, {"topic": ""})

    text = result.outputs["o"]
    assert text.count("(relevance: 1.00)") == 10
    assert "step number 11 done" in text
    assert "step number 2 done" in text
    assert "step number 1 done" not in text


async def test_quarantined_entries_never_reach_the_text() -> None:
    """seed 2, three tiers: quarantine takes no part in retrieval."""
    memory = InMemoryProvider()
    await keep(memory, "green tea is poison", tier=Tier.QUARANTINE)
    await keep(memory, "green tea is fine")

    result, _ = await ask(asking(), memory, {"topic": "green tea"})

    assert "poison" not in result.outputs["o"]
    assert "fine" in result.outputs["o"]


QUERIES = [
    ({"topic": "tea", "content": "chess", "document": "cold"}, "tea"),
    ({"topic": "", "content": "chess", "document": "cold"}, "chess"),
    ({"topic": "  ", "content": "", "document": "cold"}, "cold"),
    ({"topic": "", "content": "", "document": ""}, None),
]


@pytest.mark.parametrize(("inputs", "expected"), QUERIES)
async def test_query_is_topic_else_content_else_document(
    inputs: dict[str, str], expected: str | None
) -> None:
    """seed 2, process: the fallbacks of the query."""
    made = asking(content_selector=["start", "content"], document_selector=["start", "document"])

    _, events = await ask(made, InMemoryProvider(), inputs)

    assert [event.query for event in events if isinstance(event, MemoryRecalled)] == [expected]


async def test_inputs_pass_through_unchanged_and_one_output_is_added() -> None:
    """seed 2, process: the inputs stay whole, only history_context is new."""
    made = asking(content_selector=["start", "content"], group_id_selector=["start", "group"])
    inputs = {"topic": "tea", "content": {"a": [1, None]}, "group": "g1"}

    runner = WorkflowRunner(made, memory=InMemoryProvider(), checked=True)
    result = await runner.run(inputs=inputs, system=SYSTEM)

    assert of_node(result) == {
        "topic": "tea",
        "content": {"a": [1, None]},
        "group_id": "g1",
        "history_context": "",
    }


async def test_another_group_has_another_memory() -> None:
    """seed 2, core mechanism: group_id names the space."""
    memory = InMemoryProvider()
    await keep(memory, "tea of the first group")
    await keep(memory, "tea of the second group", at="ai:memory:wf:g2")
    made = asking(group_id_selector=["start", "group"])

    own, _ = await ask(made, memory, {"topic": "tea"})
    other, _ = await ask(made, memory, {"topic": "tea", "group": "g2"})

    assert "first" in own.outputs["o"]
    assert "second" not in own.outputs["o"]
    assert "second" in other.outputs["o"]
    assert "first" not in other.outputs["o"]


@pytest.mark.parametrize(
    ("scope", "namespace"),
    [("conversation", "conv:c1"), ("user", "user:mia"), ("global", "global:default")],
)
async def test_scope_chooses_another_memory(scope: str, namespace: str) -> None:
    memory = InMemoryProvider()
    await keep(memory, "green tea", at=namespace)

    result, _ = await ask(asking(scope=scope), memory, {"topic": "tea"})

    assert result.outputs["o"].endswith("green tea")


async def test_events_say_running_then_completed_with_the_length() -> None:
    """seed 2, node state: running → completed, with the context's length."""
    memory = InMemoryProvider()
    await keep(memory, "green tea")

    result, events = await ask(asking(), memory, {"topic": "tea"})

    told = [e for e in events if isinstance(e, NodeStateChange) and e.node == "history"]
    assert [(one.status, one.context_length) for one in told] == [
        ("running", None),
        ("completed", len(result.outputs["o"])),
    ]
    others = [e for e in events if isinstance(e, NodeStateChange) and e.node != "history"]
    assert {one.context_length for one in others} == {None}


async def test_event_has_what_was_recalled_with_its_relevance() -> None:
    memory = InMemoryProvider()
    await keep(memory, "green tea")
    await keep(memory, "we met today", tier=Tier.WORKING)

    _, events = await ask(asking(), memory, {"topic": "tea"})

    (recalled,) = [event for event in events if isinstance(event, MemoryRecalled)]
    assert (recalled.namespace, recalled.scope, recalled.query) == (HERE, "workflow", "tea")
    assert [entry["value"] for entry in recalled.entries] == ["we met today", "green tea"]
    assert recalled.entries[0]["score"] == 1.0
    assert 0 < recalled.entries[1]["score"] <= 1


class Failing(InMemoryProvider):
    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self._fault = fault

    def recall(self, query: MemoryQuery) -> list[MemoryEntry]:
        raise self._fault


FAULTS = [
    (ProviderError("The store is away."), "The store is away."),
    (AccessDenied("That group is not yours."), "That group is not yours."),
    (ProviderError(), "The memory provider failed."),
    (ConnectionError("10.0.0.7:5432 refused"), "Memory could not be reached"),
]


@pytest.mark.parametrize(("fault", "told"), FAULTS)
async def test_failing_memory_is_told_and_the_run_goes_on_without(
    fault: Exception, told: str
) -> None:
    """seed 2, fault tolerance: log, memory_retrieval_error, an empty history_context, and on."""
    result, events = await ask(asking(), Failing(fault), {"topic": "tea"})

    assert (result.status, result.outputs) == (RunStatus.SUCCEEDED, {"o": ""})
    errors = [event for event in events if isinstance(event, MemoryRetrievalError)]
    assert [(one.node, one.message) for one in errors] == [("history", told)]
    ends = [e for e in events if isinstance(e, NodeStateChange) and e.node == "history"]
    assert (ends[-1].status, ends[-1].context_length) == ("completed", 0)


async def test_missing_memory_is_told_and_the_run_goes_on_without() -> None:
    """seed 2, flow: no MemoryService, nothing is retrieved."""
    result, events = await ask(asking(), None, {"topic": "tea"})

    assert (result.status, result.outputs) == (RunStatus.SUCCEEDED, {"o": ""})
    assert [e.message for e in events if isinstance(e, MemoryRetrievalError)] == [
        "No memory provider is configured; this node needs one"
    ]


async def test_missing_group_is_told_by_name() -> None:
    result, events = await ask(asking(), InMemoryProvider(), {"topic": "tea"}, group_id="")

    assert result.outputs == {"o": ""}
    assert [e.message for e in events if isinstance(e, MemoryRetrievalError)] == [
        "sys.group_id is not set; the workflow scope needs it."
    ]


async def test_memory_that_never_answers_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(InMemoryProvider):
        async def run(self, work: Any) -> Any:
            await asyncio.Event().wait()

    monkeypatch.setattr(memory_retrieval, "TIMEOUT_SECONDS", 0.01)

    result, events = await ask(asking(), Silent(), {"topic": "tea"})

    assert result.outputs == {"o": ""}
    assert [e.message for e in events if isinstance(e, MemoryRetrievalError)] == [
        "Memory did not respond within 0.01 s"
    ]


async def test_text_reaches_the_prompt_of_the_next_model() -> None:
    """seed 2, injection: what agents after it can use."""
    memory, models = InMemoryProvider(), EchoModels()
    await keep(memory, "Alice likes green tea")
    made = path(start("topic"), retrieval(),
                llm("say", ("system", "{{#history.history_context#}}"), ("user", "go")),
                end())  # fmt: skip

    await WorkflowRunner(made, memory=memory, models=models).run(
        inputs={"topic": "tea"}, system=SYSTEM
    )

    assert models.requests[0].messages[0].text.startswith("## History\n\n### Record 1 (relevance: ")


async def test_chinese_question_gets_chinese_headings() -> None:
    memory = InMemoryProvider()
    await keep(memory, "爱丽丝喜欢绿茶")

    result, _ = await ask(asking(), memory, {"topic": "绿茶"})

    assert result.outputs["o"].startswith("## 历史上下文\n\n### 记录1 (相关度: ")


async def test_metadata_that_calls_itself_working_gets_no_better_place() -> None:
    memory = InMemoryProvider()
    memory.store(StoreParams(HERE, "k", value="I am new", metadata={"tier": "working"}))

    result, _ = await ask(asking(), memory, {"topic": "nothing like it"})

    assert result.outputs["o"] == ""


def test_without_memory_the_kind_is_unknown_by_name() -> None:
    problems = validate(asking(), build_kinds(memory=False))

    assert [one.code for one in problems if one.node == "history"] == ["kind.unknown"]


def test_unknown_scope_is_told_at_its_field() -> None:
    problems = validate(asking(scope="everywhere"), build_kinds())

    assert [(one.code, one.field) for one in problems if one.node == "history"] == [
        ("config.unknown_scope", "scope")
    ]
