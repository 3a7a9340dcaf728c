"""Calls that somebody outside keeps from ending well: what a workflow does then waits for a review."""

import asyncio
from typing import Any

from memory.core.records import Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import MODEL, ScriptedModel, Tools, call, tool_entries
from tests.engine.language.test_untrusted import SYSTEM, Page
from tests.support.cases import for_each
from tests.support.documents import document, end, node, start
from workflows.engine.kinds import NodeConfig, NodeContext, NodeResult
from workflows.engine.language.document import NodeSpec
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus


class Hanging(Page):
    """A page that never comes."""

    name = "hanging"

    async def run(  # type: ignore[override] # a kind's run is either plain or a coroutine
        self, prepared: NodeConfig, ctx: NodeContext
    ) -> NodeResult:
        await asyncio.Event().wait()
        return NodeResult({})


HANGS = document([start(), node("page", "hanging"), end()], ["start -> page", "page -> end"])
FAILS: dict[str, Any] = {"error_strategy": "fail-branch"}


async def store_after_failure(calling: NodeSpec, *replies: Any, tools: Any = ()) -> Any:
    """Return the tier and origin of the person's words that are stored behind a failed call."""
    keep = node("keep", "memory-store", scope="user", key="k", value_selector=["start", "own"])
    made = document(
        [start("own"), calling, keep, end()],
        [f"start -> {calling.id}", f"{calling.id}:fail-branch -> keep", f"{calling.id} -> end"],
    )
    memory = InMemoryProvider()
    runner = WorkflowRunner(
        made,
        memory=memory,
        models=ScriptedModel(*replies),
        tools=tools,
        plugins=[Hanging()],
        workflows={"hangs": HANGS},
    )

    result = await runner.run(inputs={"own": "mine"}, system=SYSTEM)

    assert result.status is RunStatus.PARTIAL, result.error
    [entry] = memory.living("user:mia").values()
    return entry.tier, entry.metadata.get("origin")


def break_down(**_arguments: Any) -> str:
    raise RuntimeError("a bug of the tool, which an answer has found")


@for_each("trusted, expected", [(False, (Tier.QUARANTINE, "web")), (True, (Tier.LONG_TERM, None))])
async def test_agent_whose_tool_breaks_down_has_called_outside(
    trusted: bool, expected: Any
) -> None:
    tools = Tools(fetch=break_down)
    tools.trusted = trusted
    agent = node("agent", "agent", model=MODEL, query="Hi", tools=tool_entries("fetch"), **FAILS)

    stored = await store_after_failure(agent, ("", [call("fetch")]), "Done", tools=tools)

    assert stored == expected


async def test_workflow_that_is_cut_off_may_have_waited_for_a_page() -> None:
    calling = node("calling", "sub-workflow", workflow="hangs", timeout_secs=0.01, **FAILS)

    assert await store_after_failure(calling, "") == (Tier.QUARANTINE, "web")
