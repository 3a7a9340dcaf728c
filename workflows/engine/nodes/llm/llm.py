"""LLM: asks a model, with injected memory and earlier messages of the conversation, and streams its answer."""

from collections.abc import Iterable
from typing import Final

from workflows.engine.appearance import Data, get_model_name
from workflows.engine.configuration import Field, Widget
from workflows.engine.errors import EngineFault
from workflows.engine.initial_values import CHAT_MESSAGE, Surroundings
from workflows.engine.kinds import NodeContext, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import Retry
from workflows.engine.language.memory_usage import (
    DEFAULT_SCOPE,
    FINDS_FORMER,
    INCLUDE_PROFILE,
    INCLUDE_RECENT,
    INITIAL_SCOPE,
    MIN_SCORE,
    RECENCY,
    SCOPE_HELP,
    SCOPE_HINTS,
    SCOPES,
)
from workflows.engine.language.problems import Problem
from workflows.engine.language.templating import format_reference
from workflows.engine.model_records import describe_usage
from workflows.engine.nodes.llm.llm_config import LlmConfig, ModelNode
from workflows.engine.nodes.llm.llm_fields import MODEL_FIELD, VISION_FIELD, WINDOW_FIELD
from workflows.engine.nodes.llm.model_calls import build_request, call_model, describe_model
from workflows.engine.nodes.llm.prompt_messages import build_prompt
from workflows.engine.nodes.llm.structured_output import call_for_object
from workflows.engine.nodes.llm.vision_models import find_vision_problems
from workflows.engine.texts import Text, gettext_noop


# The prompt of a new node behind one that recalls memories.
MEMORY_PROMPT: Final = (
    "You are a friendly assistant. Use what you remember about this person where it helps."
)


class Llm(ModelNode[LlmConfig]):
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
    calls_outside = True
    records_untrusted_content = True
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
        MODEL_FIELD,
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
              help=gettext_noop("Recalls what this person said before, and adds it to the prompt. A Remember node stores it."),
              is_folded=True, fields=(
            Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("scope", gettext_noop("Scope"), Widget.CHOICE, default=DEFAULT_SCOPE,
                  initial=INITIAL_SCOPE, choices=SCOPES, help=SCOPE_HELP,
                  choice_hints=SCOPE_HINTS),
            Field("query_selector", gettext_noop("Query variable"), Widget.SELECTOR,
                  presets_message=True,
                  help=gettext_noop("Without a variable, the most recent entries are returned.")),
            Field("top_k", gettext_noop("Max results (Top K)"), Widget.NUMBER, default=10, low=1, high=100),
            INCLUDE_PROFILE,
            INCLUDE_RECENT,
            Field("filter", gettext_noop("Metadata filter"), Widget.METADATA_FILTER,
                  example={"category": "fact"}),
            MIN_SCORE,
            RECENCY,
            FINDS_FORMER,
            Field("injection_position", gettext_noop("Insert position"), Widget.CHOICE,
                  default="after_system", choices=(
                      ("before_system", gettext_noop("Before the system message")),
                      ("after_system", gettext_noop("After the system message")),
                      ("before_user", gettext_noop("Before the user message")),
                  )),
            Field("format_template", gettext_noop("Format template"), Widget.JINJA,
                  help=gettext_noop("Jinja2 template over entries. If empty, one line “- key: value” per entry.")),
        )),
        WINDOW_FIELD,
        Field("context", gettext_noop("Context"), Widget.SECTION,
              help=gettext_noop("Inserted for {{#context#}} in the prompt."), fields=(
            Field("enabled", gettext_noop("Enable"), Widget.SWITCH),
            Field("variable_selector", gettext_noop("Variable"), Widget.SELECTOR),
        )),
        VISION_FIELD,
        Field("structured_output_switch_on", gettext_noop("Structured output"), Widget.SWITCH,
              help=gettext_noop("The model returns an object with this schema.")),
        Field("structured_output", gettext_noop("Schema"), Widget.SCHEMA,
              shown_when=("structured_output_switch_on", (True,))),
        Field("reasoning_format", gettext_noop("Reasoning"), Widget.CHOICE, default="separated",
              choices=(
                  ("tagged", gettext_noop("Inline")),
                  ("separated", gettext_noop("Separate")),
              )),
    )  # fmt: skip

    def build_surrounding_data(self, surroundings: Surroundings) -> Data:
        """Answer the person's message, with the memories that the node before recalls and the chat's earlier messages."""
        message_or_text = surroundings.message or surroundings.text
        message = format_reference(message_or_text) if message_or_text else ""
        context = format_reference(surroundings.context) if surroundings.context else ""
        if not message and not context:
            return {}
        system = f"{surroundings.translate(MEMORY_PROMPT)}\n{context}" if context else ""
        prompt = [{"role": "system", "text": system}, {"role": "user", "text": message}]
        if surroundings.message == CHAT_MESSAGE:
            return {"prompt_template": prompt, "memory": {"enabled": True}}
        return {"prompt_template": prompt}

    def summarize(self, data: Data) -> Iterable[Text]:
        return [get_model_name(data.get("model"))]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        outputs = (
            Output("text", "string", gettext_noop("Model output"), example="Dear Ms. Smith, …"),
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
            config.enhanced_memory.query_selector if config.enhanced_memory else None,
            *config.list_read_variables(),
        ]
        selectors += [variable.value_selector for variable in config.jinja_variables]
        return tuple(filter(None, selectors))

    def check(self, spec: NodeSpec) -> list[Problem]:
        if problems := super().check(spec):
            return problems
        config = self.configure(spec)
        return [*find_vision_problems(spec.id, config.model, config.vision)]

    async def run(self, prepared: LlmConfig, ctx: NodeContext) -> NodeResult:
        prompt = await build_prompt(prepared, ctx)
        ctx.record_inputs({**describe_model(prepared.model), **prompt.describe()})
        ctx.record_events(prompt.events)
        request = build_request(
            prepared.model,
            prompt.messages,
            ctx,
            json_schema=prepared.json_schema,
            memories=prompt.memories,
        )
        has_tags = prepared.reasoning_format == "tagged"
        value: Json = None
        if prepared.json_schema is None:
            answer = await call_model(request, ctx, output="text", has_tagged_reasoning=has_tags)
        else:
            answer, value = await call_for_object(request, ctx, has_tagged_reasoning=has_tags)
            ctx.stream("text", answer.text)
        outputs: dict[str, Json] = {
            "text": answer.text,
            "reasoning_content": answer.reasoning,
            "usage": describe_usage(answer.usage),
            "finish_reason": answer.finish_reason,
        }
        if prepared.json_schema is not None:
            outputs["structured_output"] = value
        return NodeResult(outputs, usage=answer.usage, events=prompt.events)

    async def preview_inputs(self, prepared: LlmConfig, ctx: NodeContext) -> dict[str, Json]:
        try:
            prompt = await build_prompt(prepared, ctx, with_memory=False)
        except EngineFault as fault:
            return {**describe_model(prepared.model), "prompt_error": fault.message}
        return {**describe_model(prepared.model), **prompt.describe()}
