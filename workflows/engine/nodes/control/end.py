"""End: the outputs of a run of mode "workflow"."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from workflows.engine.document import NodeSpec, Selector
from workflows.engine.kinds import (
    Execution,
    Field,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    Widget,
    gettext_noop,
)
from workflows.engine.templating import Segment


class EndOutput(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    variable: str
    value_selector: tuple[str, ...]
    value_type: Any = "any"  # informative only, and written in many ways


class EndConfig(NodeConfig):
    outputs: tuple[EndOutput, ...] = ()


class End(NodeKind[EndConfig, EndConfig]):
    name = "end"
    title = gettext_noop("End")
    description = gettext_noop("What the run gives back.")
    group = "flow"
    config_model = EndConfig
    execution = Execution.RESPONSE
    gives_results = True
    fields = (
        Field(
            "outputs",
            gettext_noop("Outputs"),
            Widget.OUTPUTS,
            required=True,
            help=gettext_noop("What programmes and people get from a run."),
            example=[{"variable": "text", "value_selector": ["llm", "text"]}],
            wanted="The node gives nothing back: it has no outputs",
        ),
    )

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return tuple(
            Output(output.variable, str(output.value_type or "any").lower())
            for output in self.configure(spec).outputs
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(output.value_selector for output in self.configure(spec).outputs)

    def segments(self, prepared: EndConfig) -> Sequence[Segment]:
        """A line an output."""
        segments: list[Segment] = []
        for output in prepared.outputs:
            if len(output.value_selector) > 1:
                segments += ["\n"] if segments else []
                segments.append(output.value_selector)
        return segments

    def run(self, prepared: EndConfig, ctx: NodeContext) -> NodeResult:
        look_up = ctx.pool.get_or_none
        return NodeResult({o.variable: look_up(o.value_selector) for o in prepared.outputs})
