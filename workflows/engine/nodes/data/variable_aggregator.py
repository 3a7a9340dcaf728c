"""Variable aggregator: passes on the first of several variables that exists, for branches that don't all run."""

from collections.abc import Iterable

from workflows.engine.appearance import Data, get_variable_name, join_names, list_items
from workflows.engine.configuration import ConfigPart, Field, NodeConfig, Widget
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.variables import MISSING
from workflows.engine.texts import Text, gettext_noop


class VariableGroup(ConfigPart):
    group_name: str
    output_type: str | None = "any"
    variables: tuple[tuple[str, ...], ...] = ()


class AdvancedSettings(ConfigPart):
    group_enabled: bool = False
    groups: tuple[VariableGroup, ...] = ()


class AggregatorConfig(NodeConfig):
    variables: tuple[tuple[str, ...], ...] = ()
    output_type: str | None = "any"
    advanced_settings: AdvancedSettings | None = None

    @property
    def groups(self) -> tuple[VariableGroup, ...]:
        advanced = self.advanced_settings
        return advanced.groups if advanced is not None and advanced.group_enabled else ()


class VariableAggregator(NodeKind[AggregatorConfig, AggregatorConfig]):
    name = "variable-aggregator"
    passes_text_on = True
    aliases = ("variable-assigner",)  # the name in old exports
    title = gettext_noop("Variable aggregator")
    description = gettext_noop("Returns the first variable that has a value")
    group = "data"
    palette_order = 20
    icon = "merge"
    family = "data"
    dialects = ("dify", "xworkflow")
    config_model = AggregatorConfig
    fields = (
        Field(
            "variables",
            gettext_noop("Variables"),
            Widget.SELECTORS,
            help=gettext_noop("The first variable with a value is returned."),
            example=[["llm", "text"], ["fallback", "output"]],
        ),
        Field("output_type", gettext_noop("Type"), Widget.TYPE, default="any"),
        Field(
            "advanced_settings",
            gettext_noop("Groups"),
            Widget.GROUPS,
            help=gettext_noop("Several groups, each with a separate output."),
        ),
    )

    def summarize(self, data: Data) -> Iterable[Text]:
        return [
            join_names(dict.fromkeys(map(get_variable_name, list_items(data.get("variables")))))
        ]

    def find_text_output(self, spec: NodeSpec) -> str:
        return "" if self.configure(spec).groups else "output"

    def build_initial_data(self, text: Selector) -> Data:
        return {"variables": [[*text]]}

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        config = self.configure(spec)
        if config.groups:
            return tuple(Output(group.group_name, "object") for group in config.groups)
        return (Output("output", config.output_type or "any", gettext_noop("Selected value")),)

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        lists = [group.variables for group in config.groups] or [config.variables]
        return tuple(selector for selectors in lists for selector in selectors)

    def run(self, prepared: AggregatorConfig, ctx: NodeContext) -> NodeResult:
        if not prepared.groups:
            return NodeResult(_select_first_output(prepared.variables, ctx))
        return NodeResult(
            {
                group.group_name: outputs
                for group in prepared.groups
                if (outputs := _select_first_output(group.variables, ctx))
            }
        )


def _select_first_output(selectors: Iterable[Selector], ctx: NodeContext) -> dict[str, Json]:
    """Return the first variable that exists as ``output``, even if it is empty or zero, or no output at all."""
    for selector in selectors:
        value = ctx.pool.get(selector)
        if value is not MISSING:
            return {"output": value}
    return {}
