"""Words from outside in errors: a node that fails says why, and what is around it fails with the same words."""

import pytest

from memory.core.records import Tier
from memory.providers.in_memory import InMemoryProvider
from tests.engine.language.test_untrusted import SYSTEM, WEB, Page
from tests.support.documents import document, end, inside, loop, node, start, template
from tests.support.engine import JinjaHere
from workflows.engine.errors import ModelFailed
from workflows.engine.kinds import NodeConfig, NodeContext, NodeKind, NodeResult
from workflows.engine.language.document import NodeSpec
from workflows.engine.runtime.runner import WorkflowRunner


class Fails(NodeKind[NodeConfig, NodeConfig]):
    """Fails with what it has read in its error."""

    name = "fails"
    title = "Fails"

    def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        raise ModelFailed(f"The page says: {ctx.pool.get(('web', 'text'))}")


OWN, OWN_INSIDE = template("own", "x"), template("inner", "x")


async def test_error_of_a_container_has_the_words_of_what_failed_inside_it() -> None:
    memory = InMemoryProvider()
    rounds = loop("c", 1, error_strategy="fail-branch")
    kept = node("s", "memory-store", scope="user", key="k", value_selector=["c", "error_message"])
    made = document(
        [start("q"), *inside(rounds, WEB, node("f", "fails", read=["web", "text"])), kept, end()],
        ["start -> c", "cstart -> web", "web -> f", "c:fail-branch -> s", "s -> end"],
    )
    runner = WorkflowRunner(made, memory=memory, plugins=[Page(), Fails()])

    await runner.run(inputs={"q": "Tea opens at nine"}, system=SYSTEM)

    entry = memory.living("user:mia")["k"]
    assert "Tea opens at nine" in str(entry.value)
    assert (entry.tier, entry.metadata["origin"]) == (Tier.QUARANTINE, "web")


@pytest.mark.parametrize(("first", "tier"), [(WEB, Tier.QUARANTINE), (OWN, Tier.LONG_TERM)])
async def test_limit_of_a_workflow_that_read_outside_decides_what_its_caller_does(
    first: NodeSpec, tier: Tier
) -> None:
    """The page may have made it too long."""
    memory = InMemoryProvider()
    called = document(
        [start("q"), first, *inside(loop("lo", 9), OWN_INSIDE), end()],
        [f"start -> {first.id}", f"{first.id} -> lo", "lostart -> inner", "lo -> end"],
    )
    call = node("call", "sub-workflow", workflow="long", error_strategy="fail-branch")
    kept = node("s", "memory-store", scope="user", key="k", value_selector=["start", "q"])
    made = document(
        [start("q"), call, kept, end()],
        ["start -> call", "call:fail-branch -> s", "s -> end", "call -> end"],
    )
    runner = WorkflowRunner(
        made,
        memory=memory,
        templates=JinjaHere(),
        plugins=[Page()],
        workflows={"long": called},
        max_steps=8,
    )

    await runner.run(inputs={"q": "Tea opens at nine"}, system=SYSTEM)

    assert [entry.tier for entry in memory.living("user:mia").values()] == [tier]
