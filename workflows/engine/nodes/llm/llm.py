"""LLM: asks a model, with injected memory and earlier messages of the conversation, and streams its answer."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing

from pydantic import ValidationError

from workflows.engine.appearance import Data, get_model_name
from workflows.engine.configuration import Field, Widget
from workflows.engine.errors import EngineFault, ModelFailed, NodeFailed, PortMissing
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import Retry
from workflows.engine.language.memory_usage import DEFAULT_SCOPE, RECENCY, SCOPES
from workflows.engine.language.templating import Template
from workflows.engine.nodes.llm.llm_config import LlmConfig
from workflows.engine.nodes.llm.prompt_messages import Prompt, build_prompt
from workflows.engine.nodes.llm.reasoning import ReasoningSplitter
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.engine.texts import Text, gettext_noop


class Llm(NodeKind[LlmConfig, LlmConfig]):
    name = "llm"
    title = gettext_noop("LLM")
    description = gettext_noop("Calls a language model")
    group = "ai"
    palette_order = 10
    icon = "model"
    family = "model"
    dialects = ("dify", "xworkflow")
    config_model = LlmConfig
    has_effect = True
    leak_check_settings = tuple(
        {
            "model": {"provider": "echo", "name": "echo", "mode": "chat"},
            "prompt_template": [{"role": "user", "text": "{{#start.text#}}"}],
            "enhanced_memory": {
                "enabled": True,
                "scope": scope,
                "query_selector": ["start", "text"],
            },
        }
        for scope in ("user", "conversation", "global")
    )
    retry = Retry(max_retries=3, interval_ms=1000)
    streams = frozenset({"text"})
    fields = (
        Field("model", gettext_noop("Model"), Widget.MODEL, required=True,
              default={"provider": "offline", "name": "offline", "mode": "chat",
                       "completion_params": {}}),
        Field("prompt_template", gettext_noop("Prompt"), Widget.MESSAGES, required=True,
              help=gettext_noop("Messages in the order in which they are sent to the model."),
              default=[{"role": "system", "text": ""}, {"role": "user", "text": ""}],
              example=[{"role": "system", "text": "You answer in one sentence."},
                       {"role": "user", "text": "{{#sys.query#}}"}],
              empty_warning="The prompt is empty"),
        Field("prompt_config", gettext_noop("Jinja2 variables"), Widget.SECTION, fields=(
            Field("jinja2_variables", gettext_noop("Variables"), Widget.OUTPUTS,
                  help=gettext_noop("Available under these names in Jinja2 messages.")),
        )),
        Field("enhanced_memory", gettext_noop("Memory"), Widget.SECTION,
              help=gettext_noop("Recalls memories before the call and adds them to the prompt."),
              fields=(
            Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("scope", gettext_noop("Scope"), Widget.CHOICE, default=DEFAULT_SCOPE,
                  choices=SCOPES),
            Field("query_selector", gettext_noop("Query variable"), Widget.SELECTOR,
                  help=gettext_noop("Without a variable, the most recent entries are returned.")),
            Field("top_k", gettext_noop("Max results (Top K)"), Widget.NUMBER, default=10, low=1, high=100),
            Field("filter", gettext_noop("Metadata filter"), Widget.OBJECT,
                  example={"category": "fact"}),
            RECENCY,
            Field("injection_position", gettext_noop("Insert position"), Widget.CHOICE,
                  default="after_system", choices=(
                      ("before_system", gettext_noop("Before the system message")),
                      ("after_system", gettext_noop("After the system message")),
                      ("before_user", gettext_noop("Before the user message")),
                  )),
            Field("format_template", gettext_noop("Format template"), Widget.JINJA,
                  help=gettext_noop("Jinja2 template over entries. If empty, one line “- key: value” per entry.")),
        )),
        Field("memory", gettext_noop("Conversation memory window"), Widget.SECTION,
              help=gettext_noop("Sends earlier messages of the conversation."), fields=(
            Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("variable_selector", gettext_noop("Messages variable"), Widget.SELECTOR,
                  accepted_types=("array[any]", "array[object]", "array[string]"),
                  help=gettext_noop("Without a variable, the turns of this conversation are used.")),
            Field("window_size", gettext_noop("Max messages"), Widget.NUMBER, low=0),
        )),
        Field("context", gettext_noop("Context"), Widget.SECTION,
              help=gettext_noop("Inserted for {{#context#}} in the prompt."), fields=(
            Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("variable_selector", gettext_noop("Variable"), Widget.SELECTOR),
        )),
        Field("structured_output_switch_on", gettext_noop("Structured output"), Widget.SWITCH,
              help=gettext_noop("The model returns an object with this schema.")),
        Field("structured_output", gettext_noop("Schema"), Widget.SCHEMA,
              shown_when=("structured_output_switch_on", (True,))),
        Field("reasoning_format", gettext_noop("Reasoning"), Widget.CHOICE, default="tagged",
              choices=(
                  ("tagged", gettext_noop("Inline")),
                  ("separated", gettext_noop("Separate")),
              )),
    )  # fmt: skip

    def summarize(self, data: Data) -> Iterable[Text]:
        return [get_model_name(data.get("model"))]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        outputs = (
            Output("text", "string", gettext_noop("Model output")),
            Output("reasoning_content", "string", gettext_noop("Reasoning, if separate")),
            Output("usage", "object", gettext_noop("Prompt and completion tokens")),
            Output("finish_reason", "string", gettext_noop("Finish reason")),
        )
        structured = Output("structured_output", "object", gettext_noop("Structured output"))
        return (*outputs, structured) if self.configure(spec).json_schema else outputs

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        selectors = [
            config.context.variable_selector if config.context and config.context.enabled else None,
            config.memory.variable_selector if config.memory else None,
            config.enhanced_memory.query_selector if config.enhanced_memory else None,
        ]
        selectors += [variable.value_selector for variable in config.jinja_variables]
        return tuple(filter(None, selectors))

    def reads_answers(self, spec: NodeSpec) -> bool:
        try:
            window = self.configure(spec).memory
        except ValidationError:
            return False  # an incomplete draft, which cannot run
        return window is not None and window.enabled and not window.variable_selector

    async def run(self, prepared: LlmConfig, ctx: NodeContext) -> NodeResult:
        prompt = await build_prompt(prepared, ctx)
        if ctx.ports.model is None:
            raise PortMissing("model")
        ctx.record_inputs({**_describe_model(prepared), **prompt.describe()})
        reasoning = ReasoningSplitter(tagged=prepared.reasoning_format != "separated")
        chunks = ctx.ports.model.stream(_build_request(prepared, prompt, ctx))
        usage, finish_reason = await _stream_answer(chunks, reasoning, ctx)
        text = "".join(reasoning.text)
        outputs: dict[str, Json] = {
            "text": text,
            "reasoning_content": "".join(reasoning.reasoning).strip(),
            "usage": _describe_usage(usage),
            "finish_reason": finish_reason,
        }
        if prepared.json_schema is not None:
            outputs["structured_output"] = _parse_object(text)
        return NodeResult(outputs, usage=usage, events=prompt.events)

    async def preview_inputs(self, prepared: LlmConfig, ctx: NodeContext) -> dict[str, Json]:
        try:
            prompt = await build_prompt(prepared, ctx, with_memory=False)
        except EngineFault as fault:
            return {**_describe_model(prepared), "prompt_error": fault.message}
        return {**_describe_model(prepared), **prompt.describe()}


def _build_request(config: LlmConfig, prompt: Prompt, ctx: NodeContext) -> ModelRequest:
    params = {
        name: Template.of(value).render_text(ctx.pool) if isinstance(value, str) else value
        for name, value in (config.model.completion_params or {}).items()
    }
    return ModelRequest(
        provider=config.model.provider,
        model=config.model.name,
        messages=prompt.messages,
        origin=ctx.origin,
        mode="completion" if config.is_completion else "chat",
        params=params,
        json_schema=config.json_schema,
        memories=prompt.memories,
    )


async def _stream_answer(
    chunks: AsyncIterator[ModelChunk], reasoning: ReasoningSplitter, ctx: NodeContext
) -> tuple[Usage, str | None]:
    """Stream the answer, and return its usage and finish reason. Raises ModelFailed if the answer was cut off."""
    usage, finish_reason = Usage(), None
    # Always close the stream, or the connection of a cancelled run would stay open until garbage collection.
    async with aclosing(chunks):  # type: ignore[type-var]
        async for chunk in chunks:
            if text := reasoning.feed(chunk.text, chunk.reasoning):
                ctx.stream("text", text)
            usage = chunk.usage or usage
            finish_reason = chunk.finish_reason or finish_reason
    if rest := reasoning.end():
        ctx.stream("text", rest)
    if finish_reason == "error":
        raise ModelFailed("The model's answer was cut off", retryable=True)
    return usage, finish_reason


def _describe_model(config: LlmConfig) -> dict[str, Json]:
    return {"model": {"provider": config.model.provider, "name": config.model.name}}


def _describe_usage(usage: Usage) -> dict[str, Json]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def _parse_object(text: str) -> Json:
    """Parse the object in an answer, which may have reasoning before it and put its JSON into a code fence."""
    answer = text.rsplit("</think>", 1)[-1].strip()
    start, end = answer.find("{"), answer.rfind("}")
    try:
        parsed = json.loads(answer[start : end + 1])
    except ValueError:
        message = "The model's answer is not the requested JSON object"
        raise NodeFailed("StructuredOutputInvalid", message, retryable=True) from None
    if not isinstance(parsed, dict):
        raise NodeFailed("StructuredOutputInvalid", "The model's answer is not an object")
    return parsed
