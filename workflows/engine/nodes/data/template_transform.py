"""Template: text made by Jinja2. The simplest templates are filled in here, all others elsewhere."""

from collections.abc import Awaitable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.errors import PortMissing, TemplateFailed
from workflows.engine.jinja import PlainTemplate, plain_template
from workflows.engine.kinds import (
    Field,
    NodeConfig,
    NodeContext,
    NodeKind,
    NodeResult,
    Output,
    Widget,
    gettext_noop,
)


MAX_CHARACTERS = 400_000


class TemplateVariable(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    variable: str
    value_selector: tuple[str, ...] = ()


class TemplateConfig(NodeConfig):
    template: str = ""
    variables: tuple[TemplateVariable, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    source: str
    plain: PlainTemplate | None
    variables: tuple[tuple[str, Selector], ...]


class TemplateTransform(NodeKind[TemplateConfig, Prepared]):
    name = "template-transform"
    title = gettext_noop("Template")
    description = gettext_noop("Makes text out of variables with a Jinja2 template.")
    group = "data"
    config_model = TemplateConfig
    fields = (
        Field(
            "variables",
            gettext_noop("Variables"),
            Widget.OUTPUTS,
            help=gettext_noop("Under these names the template finds them."),
            example=[{"variable": "topic", "value_selector": ["start", "topic"]}],
        ),
        Field(
            "template",
            gettext_noop("Template"),
            Widget.JINJA,
            required=True,
            example="About {{ topic|upper }}",
            wanted="The template is empty",
        ),
    )

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        variables = tuple((v.variable, v.value_selector) for v in config.variables)
        return Prepared(config.template, plain_template(config.template), variables)

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (Output("output", "string", gettext_noop("The text that was made")),)

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return tuple(variable.value_selector for variable in self.configure(spec).variables)

    def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult | Awaitable[NodeResult]:
        look_up = ctx.pool.get_or_none
        inputs = {name: look_up(selector) for name, selector in prepared.variables}
        ctx.give(inputs)
        text = prepared.plain.render(inputs) if prepared.plain is not None else None
        if text is None:
            return _render_elsewhere(prepared.source, inputs, ctx)
        return _result(text)


async def _render_elsewhere(source: str, inputs: dict[str, Json], ctx: NodeContext) -> NodeResult:
    if ctx.ports.templates is None:
        raise PortMissing("templates")
    return _result(await ctx.ports.templates.render(source, inputs))


def _result(text: str) -> NodeResult:
    if len(text) > MAX_CHARACTERS:
        raise TemplateFailed(f"The text is longer than {MAX_CHARACTERS} characters")
    return NodeResult({"output": text})
