"""Iteration start and loop start: where each round of a container begins. They do nothing themselves."""

from workflows.engine.document import NodeSpec
from workflows.engine.kinds import (
    Execution,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    gettext_noop,
)


class _ContainerStart(NodeKind[NodeConfig, str]):
    group = "flow"
    execution = Execution.ENTRY

    def prepare(self, spec: NodeSpec) -> str:
        return spec.parent or ""

    def run(self, prepared: str, ctx: NodeContext) -> NodeResult:
        """What the round begins with is kept as its input: a later attempt begins it with the same."""
        return NodeResult(inputs=dict(ctx.pool.head(prepared)))


class IterationStart(_ContainerStart):
    name = "iteration-start"
    title = gettext_noop("Iteration start")
    description = gettext_noop("Each round of an iteration begins here.")
    lives_in = frozenset({"iteration"})


class LoopStart(_ContainerStart):
    name = "loop-start"
    title = gettext_noop("Loop start")
    description = gettext_noop("Each round of a loop begins here.")
    lives_in = frozenset({"loop"})
