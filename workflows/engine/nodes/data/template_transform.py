"""Template: renders text with Jinja2. The simplest templates are filled in here, all others in the sandbox."""

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass

from workflows.engine.appearance import Data
from workflows.engine.configuration import Field, NamedVariable, NodeConfig, Widget
from workflows.engine.errors import PortMissing, TemplateFailed
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.simple_jinja import PlainTemplate, parse_plain_template
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop


MAX_CHARACTERS = 400_000


class TemplateConfig(NodeConfig):
    template: str = ""
    variables: tuple[NamedVariable, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    source: str
    plain: PlainTemplate | None
    variables: tuple[tuple[str, Selector], ...]


class TemplateTransform(NodeKind[TemplateConfig, Prepared]):
    name = "template-transform"
    passes_text_on = True
    title = gettext_noop("Template")
    description = gettext_noop("Renders text from variables")
    group = "data"
    palette_order = 10
    icon = "template"
    family = "data"
    dialects = ("dify", "xworkflow")
    config_model = TemplateConfig
    fields = (
        Field(
            "variables",
            gettext_noop("Variables"),
            Widget.OUTPUTS,
            help=gettext_noop("Available under these names in the template."),
            example=[{"variable": "topic", "value_selector": ["start", "topic"]}],
        ),
        Field(
            "template",
            gettext_noop("Template"),
            Widget.JINJA,
            required=True,
            help=gettext_noop("Use “| tojson” to print a list or an object as JSON."),
            example="About {{ topic|upper }}",
            empty_warning="The template is empty",
        ),
    )

    def summarize(self, data: Data) -> Iterable[Text]:
        return [as_text(data.get("template"))]

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        variables = tuple((v.variable, v.value_selector) for v in config.variables)
        return Prepared(config.template, parse_plain_template(config.template), variables)

    def find_text_output(self, spec: NodeSpec) -> str:
        return "output"

    def build_initial_data(self, text: Selector) -> Data:
        variables = [{"variable": text[-1], "value_selector": list(text)}]
        return {"variables": variables, "template": f"{{{{ {text[-1]} }}}}"}

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (Output("output", "string", gettext_noop("Rendered text")),)

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(variable.value_selector for variable in self.configure(spec).variables)

    def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult | Awaitable[NodeResult]:
        look_up = ctx.pool.get_or_none
        inputs = {name: look_up(selector) for name, selector in prepared.variables}
        ctx.record_inputs(inputs)
        text = prepared.plain.render(inputs) if prepared.plain is not None else None
        if text is None:
            return _render_in_sandbox(prepared.source, inputs, ctx)
        return _build_result(text)


async def _render_in_sandbox(source: str, inputs: dict[str, Json], ctx: NodeContext) -> NodeResult:
    if ctx.ports.templates is None:
        raise PortMissing("templates")
    return _build_result(await ctx.ports.templates.render(source, inputs))


def _build_result(text: str) -> NodeResult:
    if len(text) > MAX_CHARACTERS:
        raise TemplateFailed(f"The text is longer than {MAX_CHARACTERS} characters")
    return NodeResult({"output": text})
