"""The marks of steps that a part of a run is given: what a run for debugging reuses, and rounds on another worker."""

from collections.abc import Sequence
from typing import Any

import pytest

from memory.core.records import Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import MODEL
from tests.engine.language.test_untrusted import SYSTEM, Page
from tests.support.cases import for_each
from tests.support.documents import document, inside, iteration, node, start
from tests.support.engine import ports
from workflows.engine.kinds import NodeConfig, NodeContext, NodeResult
from workflows.engine.language.document import Document
from workflows.engine.language.plan import compile_plan
from workflows.engine.nodes import build_kinds
from workflows.engine.runtime.local_ports import ListJournal
from workflows.engine.runtime.loop import RoundRange, execute_plan, execute_rounds
from workflows.engine.runtime.partial_runs import (
    Extent,
    Part,
    extract_part,
    find_root,
    mark_missing_nodes,
    select_missing_node_steps,
)
from workflows.engine.runtime.run_request import RunResult, RunStart
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus, StepRecord


TEXT = "Tea opens at nine"
MEMORY = "The door code is 4711-beta"


class Report(Page):
    """Only its step says that it was given a page, and what it was shown of memory, as that of an agent does."""

    name = "report"
    has_untrusted_outputs = False
    records_untrusted_content = True

    def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        ctx.record_untrusted_keys(["page"])
        ctx.record_memories([MEMORY])
        return NodeResult({"text": TEXT})


class Listener(Page):
    """Keeps what its context knows of memories."""

    name = "listener"
    has_untrusted_outputs = False

    def __init__(self) -> None:
        self.shown: list[str] = []

    def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        self.shown += ctx.shown_memories
        return NodeResult({})


LISTENER = Listener()
KINDS = build_kinds(plugins=[Page(), Report(), LISTENER])
FETCH = {"source": "builtin", "name": "fetch_url"}
ITEMS = ["start", "items"]


def keep(value: Sequence[str]) -> Any:
    return node("keep", "memory-store", scope="user", key="k", value_selector=[*value])


def build(source: Sequence[Any], value: Sequence[str]) -> Document:
    """Something that reads outside, and behind it rounds that store what it read."""
    listener = node("listener", "listener")
    rounds = inside(iteration("it", ITEMS, None, is_parallel=True), listener, keep(value))
    edges = [f"start -> {source[0].id}", f"{source[0].id} -> it"]
    edges += ["itstart -> listener", "listener -> keep"]
    edges += ["readstart -> report"] if source[0].kind == "iteration" else []
    return document([start("q", "items"), *source, *rounds], edges)


READ_IN_ROUNDS = inside(iteration("read", ITEMS, ["report", "text"]), node("report", "report"))
SOURCES = {
    "a node": build([node("web", "web-page")], ["web", "text"]),
    "a node that says so in its step": build([node("report", "report")], ["report", "text"]),
    "such a node in rounds": build(READ_IN_ROUNDS, ["read", "output"]),
}


async def run_before(made: Document) -> Sequence[StepRecord]:
    """Return the steps of a whole run."""
    plan = compile_plan(made, KINDS)
    world = ports(memory=InMemoryProvider().port())
    result = await execute_plan(plan, build_start(), world, ListJournal())
    return [step for step in result.steps if step.key.node_id not in ("it", "listener", "keep")]


def build_start() -> RunStart:
    return RunStart("r", inputs={"q": TEXT, "items": [1]}, system=SYSTEM)


async def run_alone(
    made: Document, name: str, steps: Sequence[StepRecord], memory: InMemoryProvider
) -> RunResult:
    part = Part(Extent.ONLY, (name,))
    extract = extract_part(made, part, find_root(made, KINDS))
    plan = mark_missing_nodes(compile_plan(extract, KINDS), made)
    seeds = select_missing_node_steps(plan, steps)
    world = ports(memory=memory.port())
    return await execute_plan(plan, build_start(), world, ListJournal(), seeds=seeds)


async def run_elsewhere(
    made: Document, name: str, steps: Sequence[StepRecord], memory: InMemoryProvider
) -> RunResult:
    """Run the rounds of a container as another worker does, which reads the steps at the top level."""
    seeds = [step for step in steps if not step.key.rounds]
    rounds, world = RoundRange(name, [0], 1), ports(memory=memory.port())
    plan = compile_plan(made, KINDS)
    return await execute_rounds(plan, rounds, build_start(), world, ListJournal(), seeds=seeds)


@for_each("run", [run_alone, run_elsewhere])
@pytest.mark.parametrize("source", SOURCES)
async def test_text_from_outside_that_a_part_of_a_run_is_given_waits_for_a_review(
    source: str, run: Any
) -> None:
    memory = InMemoryProvider()
    steps = await run_before(SOURCES[source])

    result = await run(SOURCES[source], "it", steps, memory)

    assert result.status is RunStatus.SUCCEEDED, result.error
    entries = memory.living("user:mia").values()
    assert [(e.tier, e.metadata.get("origin")) for e in entries] == [(Tier.QUARANTINE, "web")]


async def test_memories_that_rounds_were_shown_are_recognized_in_rounds_elsewhere() -> None:
    made = SOURCES["such a node in rounds"]
    steps = await run_before(made)
    LISTENER.shown.clear()

    await run_elsewhere(made, "it", steps, InMemoryProvider())

    assert LISTENER.shown == [MEMORY]


@for_each("tools, expected", [([FETCH], (Tier.QUARANTINE, "web")), ([], (Tier.LONG_TERM, None))])
async def test_pinned_answer_of_an_agent_that_can_read_outside_counts_as_read(
    tools: list[Any], expected: tuple[Tier, Any]
) -> None:
    agent = node("agent", "agent", model=MODEL, query="{{#start.q#}}", tools=tools)
    nodes = [start("q"), agent, keep(["agent", "text"])]
    made = document(nodes, ["start -> agent", "agent -> keep"])
    memory = InMemoryProvider()
    runner = WorkflowRunner(made, memory=memory, mocks={"agent": {"outputs": {"text": TEXT}}})

    result = await runner.run(inputs={"q": TEXT}, system=SYSTEM)

    assert result.status is RunStatus.SUCCEEDED, result.error
    entries = memory.living("user:mia").values()
    assert [(e.tier, e.metadata.get("origin")) for e in entries] == [expected]
