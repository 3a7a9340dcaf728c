"""LLM: asks a model, streaming its answer, with memory injected and the conversation's window."""

import json
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from workflows.engine.document import Json, NodeSpec, Selector
from workflows.engine.errors import ModelFailed, NodeFailed, PortMissing, WorkflowFault
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
from workflows.engine.ports import ModelRequest, Usage
from workflows.engine.prompting import (
    ContextConfig,
    EnhancedMemory,
    Prompt,
    PromptConfig,
    PromptMessage,
    PromptSpec,
    WindowConfig,
    build_prompt,
)
from workflows.engine.reasoning import Reasoning
from workflows.engine.remembering import DEFAULT_SCOPE, RECENCY, SCOPES
from workflows.engine.templating import Template


class ModelChoice(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    provider: str = ""
    name: str = ""
    mode: str = "chat"
    completion_params: dict[str, Any] | None = None


class StructuredOutput(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    # Called ``schema`` in documents, which pydantic keeps for itself.
    def wanted(self) -> dict[str, Any] | None:
        return (self.model_extra or {}).get("schema")


class LlmConfig(NodeConfig):
    model: ModelChoice
    prompt_template: tuple[PromptMessage, ...] | PromptMessage = ()
    prompt_config: PromptConfig | None = None
    context: ContextConfig | None = None
    memory: WindowConfig | None = None
    enhanced_memory: EnhancedMemory | None = None
    structured_output_switch_on: bool | None = False
    structured_output_enabled: bool | None = False
    structured_output: StructuredOutput | None = None
    reasoning_format: str | None = "tagged"

    @property
    def messages(self) -> tuple[PromptMessage, ...]:
        written = self.prompt_template
        return (written,) if isinstance(written, PromptMessage) else written

    @property
    def schema_wanted(self) -> dict[str, Any] | None:
        on = self.structured_output_switch_on or self.structured_output_enabled
        return self.structured_output.wanted() if on and self.structured_output else None


@dataclass(frozen=True, slots=True)
class Prepared:
    config: LlmConfig
    prompt: PromptSpec


class Llm(NodeKind[LlmConfig, Prepared]):
    name = "llm"
    title = gettext_noop("LLM")
    description = gettext_noop("Asks a language model.")
    group = "ai"
    config_model = LlmConfig
    has_effect = True
    retryable = True
    streams = frozenset({"text"})
    fields = (
        Field("model", gettext_noop("Model"), Widget.MODEL, required=True,
              default={"provider": "offline", "name": "offline", "mode": "chat",
                       "completion_params": {}}),
        Field("prompt_template", gettext_noop("Prompt"), Widget.MESSAGES, required=True,
              help=gettext_noop("Messages in the order the model reads them."),
              default=[{"role": "system", "text": ""}, {"role": "user", "text": ""}],
              example=[{"role": "system", "text": "You answer in one sentence."},
                       {"role": "user", "text": "{{#sys.query#}}"}],
              wanted="There is no prompt"),
        Field("prompt_config", gettext_noop("Variables of Jinja2 messages"), Widget.SECTION, fields=(
            Field("jinja2_variables", gettext_noop("Variables"), Widget.OUTPUTS,
                  help=gettext_noop("Under these names a message written in Jinja2 finds them.")),
        )),
        Field("enhanced_memory", gettext_noop("Memory"), Widget.SECTION,
              help=gettext_noop("Recalls before the call and adds what it finds to the prompt."),
              fields=(
            Field("enabled", gettext_noop("Use"), Widget.SWITCH),
            Field("scope", gettext_noop("Whose memory"), Widget.CHOICE, default=DEFAULT_SCOPE,
                  choices=SCOPES),
            Field("query_selector", gettext_noop("Search for"), Widget.SELECTOR,
                  help=gettext_noop("Without a variable the newest entries are taken.")),
            Field("top_k", gettext_noop("At most"), Widget.NUMBER, default=10, low=1, high=100),
            Field("filter", gettext_noop("Only with this metadata"), Widget.OBJECT,
                  example={"category": "fact"}),
            RECENCY,
            Field("injection_position", gettext_noop("Put it"), Widget.CHOICE,
                  default="after_system", choices=(
                      ("before_system", gettext_noop("Before the system message")),
                      ("after_system", gettext_noop("After the system message")),
                      ("before_user", gettext_noop("Before the question")),
                  )),
            Field("format_template", gettext_noop("Written as"), Widget.JINJA,
                  help=gettext_noop("Jinja2 over entries; empty: one line “- key: value” each.")),
        )),
        Field("memory", gettext_noop("Conversation window"), Widget.SECTION,
              help=gettext_noop("Earlier messages of the conversation, sent along."), fields=(
            Field("enabled", gettext_noop("Use"), Widget.SWITCH),
            Field("variable_selector", gettext_noop("Messages from"), Widget.SELECTOR,
                  wants=("array[any]", "array[object]", "array[string]"),
                  help=gettext_noop("Without a variable: the turns of this conversation.")),
            Field("window_size", gettext_noop("At most so many messages"), Widget.NUMBER, low=0),
        )),
        Field("context", gettext_noop("Context"), Widget.SECTION,
              help=gettext_noop("What {{#context#}} in the prompt stands for."), fields=(
            Field("enabled", gettext_noop("Use"), Widget.SWITCH),
            Field("variable_selector", gettext_noop("Variable"), Widget.SELECTOR),
        )),
        Field("structured_output_switch_on", gettext_noop("Structured output"), Widget.SWITCH,
              help=gettext_noop("The model answers with an object of this shape.")),
        Field("structured_output", gettext_noop("Schema"), Widget.SCHEMA,
              shown_when=("structured_output_switch_on", (True,))),
        Field("reasoning_format", gettext_noop("Thinking"), Widget.CHOICE, default="tagged",
              choices=(
                  ("tagged", gettext_noop("Left in the text")),
                  ("separated", gettext_noop("Kept apart")),
              )),
    )  # fmt: skip

    def prepare(self, spec: NodeSpec) -> Prepared:
        config = self.configure(spec)
        prompt = PromptSpec(
            messages=config.messages,
            completion=config.model.mode == "completion",
            jinja=config.prompt_config or PromptConfig(),
            context=config.context or ContextConfig(),
            window=config.memory,
            memory=config.enhanced_memory,
        )
        return Prepared(config, prompt)

    def outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        outputs = (
            Output("text", "string", gettext_noop("What the model answered")),
            Output("reasoning_content", "string", gettext_noop("What it thought, if kept apart")),
            Output("usage", "object", gettext_noop("Tokens of the prompt and of the answer")),
            Output("finish_reason", "string", gettext_noop("Why it stopped")),
        )
        wanted = self.configure(spec).schema_wanted
        return (
            (
                *outputs,
                Output(
                    "structured_output", "object", gettext_noop("The object that was asked for")
                ),
            )
            if wanted
            else outputs
        )

    def reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        config = self.configure(spec)
        found = [
            config.context.variable_selector if config.context and config.context.enabled else None,
            config.memory.variable_selector if config.memory else None,
            config.enhanced_memory.query_selector if config.enhanced_memory else None,
        ]
        jinja = config.prompt_config.jinja2_variables if config.prompt_config else ()
        return tuple(s for s in (*found, *(v.value_selector for v in jinja)) if s)

    def hears_answers(self, spec: NodeSpec) -> bool:
        try:
            window = self.configure(spec).memory
        except ValidationError:
            return False  # a draft; it won't run like this
        return window is not None and window.enabled and not window.variable_selector

    async def run(self, prepared: Prepared, ctx: NodeContext) -> NodeResult:
        prompt = await build_prompt(prepared.prompt, ctx)
        if ctx.ports.model is None:
            raise PortMissing("model")
        config = prepared.config
        ctx.give({**_shown_model(config), **prompt.shown()})
        reasoning = Reasoning(tagged=config.reasoning_format != "separated")
        usage, finish_reason = await _ask(_request(config, prompt, ctx), reasoning, ctx)
        text = "".join(reasoning.text)
        outputs: dict[str, Json] = {
            "text": text,
            "reasoning_content": "".join(reasoning.reasoning).strip(),
            "usage": _shown_usage(usage),
            "finish_reason": finish_reason,
        }
        if config.schema_wanted is not None:
            outputs["structured_output"] = _parsed(text)
        return NodeResult(outputs, usage=usage, events=prompt.events)

    async def rehearse(self, prepared: Prepared, ctx: NodeContext) -> dict[str, Json]:
        try:
            prompt = await build_prompt(prepared.prompt, ctx, recalls=False)
        except WorkflowFault as fault:
            return {**_shown_model(prepared.config), "prompt_error": fault.message}
        return {**_shown_model(prepared.config), **prompt.shown()}


def _request(config: LlmConfig, prompt: Prompt, ctx: NodeContext) -> ModelRequest:
    params = {
        name: Template.of(value).text(ctx.pool) if isinstance(value, str) else value
        for name, value in (config.model.completion_params or {}).items()
    }
    return ModelRequest(
        provider=config.model.provider,
        model=config.model.name,
        messages=prompt.messages,
        origin=ctx.origin,
        mode="completion" if config.model.mode == "completion" else "chat",
        params=params,
        json_schema=config.schema_wanted,
        memories=prompt.memories,
    )


async def _ask(
    request: ModelRequest, reasoning: Reasoning, ctx: NodeContext
) -> tuple[Usage, str | None]:
    model = ctx.ports.model
    if model is None:
        raise PortMissing("model")
    usage, finish_reason = Usage(), None
    # Closed whatever happens, or a cancelled run would leave its connection to the garbage collector.
    async with aclosing(model.stream(request)) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            said = reasoning.feed(chunk.text, chunk.reasoning)
            if said:
                ctx.stream("text", said)
            usage = chunk.usage or usage
            finish_reason = chunk.finish_reason or finish_reason
    rest = reasoning.end()
    if rest:
        ctx.stream("text", rest)
    if finish_reason == "error":
        raise ModelFailed("The model broke off its answer", retryable=True)
    return usage, finish_reason


def _shown_model(config: LlmConfig) -> dict[str, Json]:
    return {"model": {"provider": config.model.provider, "name": config.model.name}}


def _shown_usage(usage: Usage) -> dict[str, Json]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def _parsed(text: str) -> Json:
    """The object in an answer that may think aloud first, and likes to fence its JSON."""
    answer = text.rsplit("</think>", 1)[-1].strip()
    start, end = answer.find("{"), answer.rfind("}")
    try:
        parsed = json.loads(answer[start : end + 1])
    except ValueError:
        message = "The model's answer isn't the JSON object that was asked for"
        raise NodeFailed("StructuredOutputInvalid", message, retryable=True) from None
    if not isinstance(parsed, dict):
        raise NodeFailed("StructuredOutputInvalid", "The model's answer isn't an object")
    return parsed
