"""End: the outputs of a run of mode "workflow"."""

from collections.abc import Iterable, Sequence
from typing import Any

from workflows.engine.appearance import Data, join_object_names
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.initial_values import Surroundings
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Mode, NodeSpec, Selector
from workflows.engine.language.templating import Segment
from workflows.engine.texts import Text, gettext_noop


class EndOutput(ConfigPart):
    variable: str
    value_selector: tuple[str, ...]
    value_type: Any = "any"  # informative only, with many spellings


class EndConfig(NodeConfig):
    outputs: tuple[EndOutput, ...] = ()


class End(NodeKind[EndConfig, EndConfig]):
    name = "end"
    title = gettext_noop("End")
    description = gettext_noop("Ends the workflow and returns its outputs")
    group = "flow"
    mode = Mode.WORKFLOW
    palette_order = 20
    icon = "end"
    family = "flow"
    dialects = ("dify", "xworkflow")
    config_model = EndConfig
    execution = Execution.RESPONSE
    provides_results = True
    fields = (
        Field(
            "outputs",
            gettext_noop("Outputs"),
            Widget.OUTPUTS,
            required=True,
            help=gettext_noop("The values that the run returns."),
            example=[{"variable": "text", "value_selector": ["llm", "text"]}],
            empty_warning="The node has no outputs",
        ),
    )

    def summarize(self, data: Data) -> Iterable[Text]:
        return [join_object_names(data.get("outputs"), "variable")]

    def build_initial_data(self, text: Selector) -> Data:
        return {"outputs": [{"variable": text[-1], "value_selector": list(text)}]}

    def build_surrounding_data(self, surroundings: Surroundings) -> Data:
        """Return what was found in memory where no node before makes a text."""
        text = surroundings.text or surroundings.context or surroundings.message
        return self.build_initial_data(text) if text else {}

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return tuple(
            Output(output.variable, str(output.value_type or "any").lower())
            for output in self.configure(spec).outputs
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(output.value_selector for output in self.configure(spec).outputs)

    def list_segments(self, prepared: EndConfig) -> Sequence[Segment]:
        """Return one line per output."""
        segments: list[Segment] = []
        for output in prepared.outputs:
            if len(output.value_selector) > 1:
                segments += ["\n"] if segments else []
                segments.append(output.value_selector)
        return segments

    def run(self, prepared: EndConfig, ctx: NodeContext) -> NodeResult:
        look_up = ctx.pool.get_or_none
        return NodeResult({o.variable: look_up(o.value_selector) for o in prepared.outputs})
