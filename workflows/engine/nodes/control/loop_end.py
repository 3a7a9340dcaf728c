"""Loop end: the round that reaches it is the last one."""

from workflows.engine.configuration import NodeConfig
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult
from workflows.engine.language.document import NodeSpec
from workflows.engine.texts import gettext_noop


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
