"""What a step that succeeded was given: a kind says it once, and may say something else in the end."""

from typing import Any

import pytest

from tests.support.documents import document, end, node, start
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult
from workflows.engine.runtime.runner import WorkflowRunner


class Telling(NodeKind[Any, dict[str, Any]]):
    """Gives one thing, and hands another back where its data says so."""

    name = "telling"
    title = "Telling"

    def prepare(self, spec):
        return dict(spec.data)

    def run(self, prepared, ctx: NodeContext) -> NodeResult:
        ctx.record_inputs({"said": "at first"})
        return NodeResult({"x": 1}, inputs=prepared.get("inputs", {}))


class TellingLate(Telling):
    name = "telling-late"

    async def run(  # type: ignore[override]  # a kind may do either
        self, prepared, ctx: NodeContext
    ) -> NodeResult:
        return super().run(prepared, ctx)


@pytest.mark.parametrize("kind", ["telling", "telling-late"])
@pytest.mark.parametrize(
    ("data", "kept"),
    [({}, {"said": "at first"}), ({"inputs": {"said": "in the end"}}, {"said": "in the end"})],
)
async def test_step_keeps_what_it_gave_unless_its_result_says_other(kind, data, kept) -> None:
    drawn = document(
        [start("q"), node("n", kind, **data), end(o=["n", "x"])], ["start -> n", "n -> end"]
    )
    runner = WorkflowRunner(drawn, plugins=[Telling(), TellingLate()])

    result = await runner.run(inputs={"q": "hi"})

    assert [step.inputs for step in result.steps if step.key.node_id == "n"] == [kept]
