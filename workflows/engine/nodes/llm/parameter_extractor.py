"""Parameter extractor: asks a model for values that a text contains. A bad answer gives zero values and a reason."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import field_validator

from workflows.engine.appearance import Data, join_object_names
from workflows.engine.configuration import Field, Widget
from workflows.engine.errors import ModelFailed
from workflows.engine.kinds import NodeContext, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import Template
from workflows.engine.model_records import USAGE, describe_usage
from workflows.engine.nodes.llm.extracted_values import (
    REASON,
    SUCCESS,
    TYPES,
    Parameter,
    build_failed_outputs,
    build_outputs,
    build_schema,
)
from workflows.engine.nodes.llm.images import add_images
from workflows.engine.nodes.llm.json_answers import find_json_object
from workflows.engine.nodes.llm.llm_config import ModelNode, ModelNodeConfig
from workflows.engine.nodes.llm.llm_fields import MODEL_FIELD, VISION_FIELD, WINDOW_FIELD
from workflows.engine.nodes.llm.model_calls import (
    ModelAnswer,
    build_request,
    call_model,
    describe_request,
)
from workflows.engine.nodes.llm.prompt_messages import load_history
from workflows.engine.nodes.llm.task_prompts import build_completion, build_extractor_prompt
from workflows.engine.nodes.llm.vision_models import find_vision_problems
from workflows.engine.ports import ModelRequest, Usage
from workflows.engine.text_rendering import as_text
from workflows.engine.texts import Text, gettext_noop
from workflows.engine.tool_calls import ToolSpec


TOOL_NAME: Final = "extract_parameters"
# The statuses with which endpoints refuse tools that their model can't call.
_TOOLS_REFUSED: Final = frozenset({400, 404, 422, 501})


class ExtractorConfig(ModelNodeConfig):
    query: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    instruction: str | None = None
    reasoning_mode: Literal["function_call", "prompt"] = "function_call"

    @field_validator("reasoning_mode", mode="before")
    @classmethod
    def _choose_mode(cls, mode: Json) -> Json:
        return mode or "function_call"

    @property
    def calls_tool(self) -> bool:
        return self.reasoning_mode == "function_call" and not self.is_completion


class ParameterExtractor(ModelNode[ExtractorConfig]):
    name = "parameter-extractor"
    title = gettext_noop("Parameter extractor")
    description = gettext_noop("Extracts values from a text with a model")
    group = "ai"
    palette_order = 30
    icon = "extract"
    family = "model"
    dialects = ("dify", "xworkflow")
    config_model = ExtractorConfig
    has_effect = True
    calls_outside = True
    records_untrusted_content = True
    fields = (
        MODEL_FIELD,
        Field("query", gettext_noop("Text"), Widget.SELECTOR, required=True,
              help=gettext_noop("The text that contains the values.")),
        Field("parameters", gettext_noop("Parameters"), Widget.PARAMETERS, required=True,
              help=gettext_noop("The values to extract; each becomes an output."),
              choices=tuple((name, name) for name in TYPES),
              example=[{"name": "city", "type": "string", "description": "Where to go",
                        "required": True}]),
        Field("instruction", gettext_noop("Instructions"), Widget.TEMPLATE,
              help=gettext_noop("How to recognize the values, and in which form to give them.")),
        Field("reasoning_mode", gettext_noop("Method"), Widget.CHOICE, default="function_call",
              help=gettext_noop("Models without tools need the prompt."),
              choices=(
                  ("function_call", gettext_noop("Tool call")),
                  ("prompt", gettext_noop("Prompt")),
              )),
        WINDOW_FIELD,
        VISION_FIELD,
    )  # fmt: skip

    def build_initial_data(self, text: Selector) -> Data:
        return {"query": [*text]}

    def summarize(self, data: Data) -> Iterable[Text]:
        return [join_object_names(data.get("parameters"), "name")]

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        names: set[str] = set()
        config = self.configure(spec)
        for index, parameter in enumerate(config.parameters):
            if parameter.name in names:
                message = f"Several parameters have the name {parameter.name}"
                field = f"parameters.{index}.name"
                problems.append(Problem("parameters.duplicate", message, spec.id, field))
            names.add(parameter.name)
        return [*problems, *find_vision_problems(spec.id, config.model, config.vision)]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        values = (
            Output(parameter.name, str(parameter.value_type), parameter.description or "")
            for parameter in self.configure(spec).parameters
        )
        return (
            *values,
            Output(SUCCESS, "number", gettext_noop("1 if all values are valid, else 0"), example=1),
            Output(REASON, "string", gettext_noop("Why a value is missing or invalid")),
            Output(USAGE, "object", gettext_noop("Prompt and completion tokens")),
        )

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        return tuple(filter(None, (config.query, *config.list_read_variables())))

    async def run(self, prepared: ExtractorConfig, ctx: NodeContext) -> NodeResult:
        request = await _build_request(prepared, ctx, with_tool=prepared.calls_tool)
        ctx.record_inputs(describe_request(prepared.model, request))
        parameters = prepared.parameters
        try:
            answer = await _ask(prepared, request, ctx)
        except ModelFailed as failure:
            # As in Dify, a model that can't be reached doesn't fail the node.
            outputs, usage = build_failed_outputs(parameters, failure.message), Usage()
        else:
            outputs, usage = (
                build_outputs(parameters, _read_values(answer, parameters)),
                answer.usage,
            )
        return NodeResult({**outputs, USAGE: describe_usage(usage)}, usage=usage)

    async def preview_inputs(self, prepared: ExtractorConfig, ctx: NodeContext) -> dict[str, Json]:
        request = await _build_request(prepared, ctx, with_tool=prepared.calls_tool)
        return describe_request(prepared.model, request)


async def _build_request(
    config: ExtractorConfig, ctx: NodeContext, *, with_tool: bool
) -> ModelRequest:
    text = as_text(ctx.pool.get_or_none(config.query))
    schema = build_schema(config.parameters, nullable=not with_tool)
    messages = build_extractor_prompt(
        text,
        schema,
        tool=TOOL_NAME if with_tool else None,
        instruction=Template.of(config.instruction or "").render_text(ctx.pool),
        history=await load_history(config.memory, ctx),
    )
    if config.is_completion:
        messages = build_completion(messages)
    if config.image_variable:
        messages = await add_images(config.image_variable, ctx, messages)
    return build_request(
        config.model,
        messages,
        ctx,
        subject=text,
        **(_build_tool_fields(schema) if with_tool else {"json_schema": schema}),
    )


def _build_tool_fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    tool = ToolSpec(TOOL_NAME, "Receives the values that the text contains", schema)
    return {"tools": (tool,), "tool_choice": "required"}


async def _ask(config: ExtractorConfig, request: ModelRequest, ctx: NodeContext) -> ModelAnswer:
    """Return the model's answer. An endpoint that refuses tools is asked for JSON instead. Raises ModelFailed."""
    try:
        return await call_model(request, ctx)
    except ModelFailed as failure:
        if not request.tools or failure.status not in _TOOLS_REFUSED:
            raise
    return await call_model(await _build_request(config, ctx, with_tool=False), ctx)


def _read_values(answer: ModelAnswer, parameters: Sequence[Parameter]) -> dict[str, Json] | None:
    """Return the object in the tool call or, without one, in the text. None if there is none.

    An empty object in a text counts only if no value is required: some models write one instead of an answer.
    """
    if answer.tool_calls:
        return find_json_object(answer.tool_calls[0].arguments or "{}")
    values = find_json_object(answer.text)
    is_needed = any(parameter.required for parameter in parameters)
    return None if is_needed and not values else values
