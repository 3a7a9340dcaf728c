"""Loop end: the round in which it is reached is the last one."""

from workflows.engine.document import NodeSpec
from workflows.engine.kinds import NodeConfig, NodeContext, NodeKind, NodeResult, gettext_noop


class LoopEnd(NodeKind[NodeConfig, NodeConfig]):
    name = "loop-end"
    title = gettext_noop("Leave the loop")
    description = gettext_noop("Ends the loop around it after this round.")
    group = "flow"
    ends_rounds = True
    lives_in = frozenset({"loop"})

    def handles(self, spec: NodeSpec) -> tuple[str, ...]:
        return ()

    def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        return NodeResult()
