"""Loop end: the round that reaches it is the last one."""

from workflows.engine.kinds import NodeConfig, NodeContext, NodeKind, NodeResult, gettext_noop
from workflows.engine.language.document import NodeSpec


class LoopEnd(NodeKind[NodeConfig, NodeConfig]):
    name = "loop-end"
    title = gettext_noop("Exit loop")
    description = gettext_noop("Ends the loop after this round")
    group = "flow"
    palette_order = 40
    icon = "end"
    family = "logic"
    dialects = ("dify",)
    ends_rounds = True
    allowed_containers = frozenset({"loop"})

    def list_handles(self, spec: NodeSpec) -> tuple[str, ...]:
        return ()

    def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        return NodeResult()
