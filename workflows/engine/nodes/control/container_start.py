"""Iteration start and loop start: the nodes at which each round of a container begins. They have no effect."""

from workflows.engine.configuration import NodeConfig
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult
from workflows.engine.language.document import NodeSpec
from workflows.engine.texts import gettext_noop


class _ContainerStart(NodeKind[NodeConfig, str]):
    group = "flow"
    icon = "start"
    family = "logic"
    dialects = ("dify", "xworkflow")
    execution = Execution.ENTRY

    def prepare(self, spec: NodeSpec) -> str:
        return spec.parent or ""

    def run(self, prepared: str, ctx: NodeContext) -> NodeResult:
        """Record the initial variables of the round as inputs, so that a later attempt can start with them."""
        return NodeResult(inputs=dict(ctx.pool.get_values(prepared)))


class IterationStart(_ContainerStart):
    name = "iteration-start"
    title = gettext_noop("Iteration start")
    description = gettext_noop("Each iteration starts here")
    allowed_containers = frozenset({"iteration"})


class LoopStart(_ContainerStart):
    name = "loop-start"
    title = gettext_noop("Loop start")
    description = gettext_noop("Each loop round starts here")
    allowed_containers = frozenset({"loop"})
