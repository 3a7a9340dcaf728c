"""Start: the node at which a run begins. Its outputs are the inputs, which were checked before the run was made."""

from collections.abc import Iterable
from typing import Any

from workflows.engine.appearance import Data, join_object_names
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.kinds import Execution, NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import NodeSpec
from workflows.engine.texts import Phrase, Text, gettext_noop


# The types of values for Dify's types of form fields. The fields of xworkflow name the type of value itself.
_TYPES = {
    "text-input": "string",
    "paragraph": "string",
    "select": "string",
    "checkbox": "boolean",
    "file-list": "array[file]",
    "json_object": "object",
    "external_data_tool": "string",
}


class FormField(ConfigPart):
    """One field of the run form; the input checker has the rules for each type."""

    variable: str
    type: str = "text-input"
    label: Any = ""  # text, or in some exports a text per language
    required: bool = False


class StartConfig(NodeConfig):
    variables: tuple[FormField, ...] = ()


class Start(NodeKind[StartConfig, StartConfig]):
    name = "start"
    title = gettext_noop("Start")
    description = gettext_noop("Starts the workflow and defines its inputs")
    group = "flow"
    palette_order = 10
    icon = "start"
    family = "flow"
    dialects = ("dify", "xworkflow")
    config_model = StartConfig
    execution = Execution.ROOT
    fields = (
        Field(
            "variables",
            gettext_noop("Inputs"),
            Widget.FORM_FIELDS,
            help=gettext_noop("Each input becomes a variable and a field in the run form."),
            example=[
                {"variable": "topic", "type": "text-input", "label": "Topic", "required": True}
            ],
        ),
    )

    def summarize(self, data: Data) -> Iterable[Text]:
        names = join_object_names(data.get("variables"), "variable")
        return [names or Phrase(gettext_noop("No inputs"))]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return tuple(
            Output(field.variable, _TYPES.get(field.type, field.type))
            for field in self.configure(spec).variables
        )

    def run(self, prepared: StartConfig, ctx: NodeContext) -> NodeResult:
        return NodeResult(dict(ctx.run_inputs))
