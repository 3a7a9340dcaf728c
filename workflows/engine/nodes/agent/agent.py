"""Agent: a model that calls tools in rounds until it has done its task. Every call is recorded and never repeated."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from pydantic import ValidationError

from workflows.engine.answerers import find_incomplete_rows
from workflows.engine.appearance import Data, get_model_name, iter_objects
from workflows.engine.configuration import Field, Widget
from workflows.engine.errors import EngineFault, NodeFailed
from workflows.engine.initial_values import CHAT_MESSAGE, Surroundings
from workflows.engine.kinds import NodeContext, NodeKind, NodeResult, Output
from workflows.engine.language.document import Json, NodeSpec, Selector
from workflows.engine.language.failure_policy import Retry
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.templating import format_reference
from workflows.engine.model_records import describe_usage
from workflows.engine.nodes.agent.agent_config import ALL_TOOLS, AgentConfig, AgentTool
from workflows.engine.nodes.agent.agent_fields import (
    ADVANCED_FIELDS,
    INITIAL_INSTRUCTION,
    INITIAL_MEMORY_TOOLS,
    INITIAL_TOOLS,
    TASK_FIELDS,
    TOOL_FIELDS,
)
from workflows.engine.nodes.agent.first_prompt import build_first_prompt, preview_first_prompt
from workflows.engine.nodes.agent.foreign_agents import read_agent_data
from workflows.engine.nodes.agent.session import AgentAnswer, AgentSession
from workflows.engine.nodes.agent.strategies import STRATEGIES
from workflows.engine.nodes.llm.llm_fields import MODEL_FIELD
from workflows.engine.nodes.llm.model_calls import describe_model
from workflows.engine.nodes.llm.vision_models import find_vision_problems
from workflows.engine.texts import Phrase, Text, count_text, gettext_noop
from workflows.engine.tool_calls import ToolReference
from workflows.engine.tools.builtin import BUILTIN_TOOLS


_ECHO: Final = {"provider": "echo", "name": "echo", "mode": "chat"}


class Agent(NodeKind[AgentConfig, AgentConfig]):
    name = "agent"
    title = gettext_noop("Agent")
    description = gettext_noop("A model that calls tools until its task is done")
    group = "ai"
    palette_order = 15
    icon = "agent"
    family = "model"
    dialects = ("dify", "xworkflow")
    config_model = AgentConfig
    has_effect = True
    calls_outside = True
    has_parts = True
    records_untrusted_content = True
    leak_check_settings = (
        *({"model": _ECHO, "query": "{{#start.text#}}", "enhanced_memory": {
            "enabled": True, "scope": scope, "query_selector": ["start", "text"]}}
          for scope in ("user", "conversation", "global")),
        # The model of the check calls every tool that it is offered.
        *({"model": _ECHO, "query": "{{#start.text#}}", "memory_tools": {
            "recall": [scope], "search_pages": [scope]}}
          for scope in ("user", "conversation", "global")),
    )  # fmt: skip
    retry = Retry(max_retries=3, interval_ms=1000)
    streams = frozenset({"text"})
    fields = (
        MODEL_FIELD,
        Field("strategy", gettext_noop("Strategy"), Widget.CHOICE, default="function_calling",
              choices=tuple((each.name, each.title) for each in STRATEGIES.values()),
              help=gettext_noop("ReAct is for models that can't call functions.")),
        *TASK_FIELDS,
        *TOOL_FIELDS,
        *ADVANCED_FIELDS,
    )  # fmt: skip

    def build_surrounding_data(self, surroundings: Surroundings) -> Data:
        """Give a new agent an instruction, two tools and memory, with the person's message as its task."""
        context = format_reference(surroundings.context) if surroundings.context else ""
        instruction = surroundings.translate(INITIAL_INSTRUCTION)
        data: dict[str, Json] = {
            "instruction": f"{instruction}\n{context}" if context else instruction,
            "tools": [dict(tool) for tool in INITIAL_TOOLS],
        }
        if surroundings.has_memory:
            data["memory_tools"] = {name: [*each] for name, each in INITIAL_MEMORY_TOOLS.items()}
        if surroundings.message is not None:
            data["query"] = format_reference(surroundings.message)
        if surroundings.message == CHAT_MESSAGE:
            data["memory"] = {"enabled": True}
        return data

    def summarize(self, data: Data) -> Iterable[Text]:
        native = read_agent_data(data)
        strategy = STRATEGIES.get(str(native.get("strategy") or "function_calling"))
        tools = iter_objects(native.get("tools"))
        # Those of memory have a mark of their own on the card.
        count = sum(bool(tool.get("name")) and tool.get("enabled") is not False for tool in tools)
        tool_text = count_text(count, gettext_noop("1 tool"), gettext_noop("%(count)s tools"))
        return [
            get_model_name(native.get("model")),
            tool_text if count else "",
            Phrase(strategy.title) if strategy else str(native.get("strategy")),
        ]

    def check(self, spec: NodeSpec) -> list[Problem]:
        problems = super().check(spec)
        if problems:
            return problems
        config = self.configure(spec)
        if config.strategy not in STRATEGIES:
            names = ", ".join(each.title for each in STRATEGIES.values())
            message = f"Strategy must be one of: {names}"
            problems.append(
                Problem(code="config.strategy", message=message, node=spec.id, field="strategy")
            )
        return [
            *problems,
            *find_incomplete_rows(config.approvers, spec.id, "approvers"),
            *_find_blank_settings(spec.id, config),
            *find_vision_problems(spec.id, config.model, config.vision),
            *_find_outside_problems(spec.id, config),
        ]

    def list_outputs(self, spec: NodeSpec) -> tuple[Output, ...]:
        return (
            Output("text", "string", gettext_noop("Last answer of the model"), example="The order is placed."),
            Output("reasoning_content", "string", gettext_noop("Reasoning of the last answer")),
            Output("files", "array[file]", gettext_noop("Files that tools returned")),
            Output("json", "array[object]", gettext_noop("Data that tools returned")),
            Output("usage", "object", gettext_noop("Prompt and completion tokens")),
            Output("rounds", "array[object]", gettext_noop("Rounds: thought, calls with results")),
            Output("todos", "array[object]", gettext_noop("To-dos with their status and steps")),
            Output("notes", "array[object]", gettext_noop("Notes of the run, newest first")),
            Output("finish_reason", "string", gettext_noop("Finish reason, or the limit that was reached")),
        )  # fmt: skip

    def list_reads(self, spec: NodeSpec) -> tuple[Selector, ...]:
        return self.configure(spec).looked_up_selectors

    def reads_answers(self, spec: NodeSpec) -> bool:
        try:
            return self.configure(spec).reads_answers
        except ValidationError:
            return False  # an incomplete draft, which cannot run

    def brings_untrusted_content(self, spec: NodeSpec) -> bool:
        """Return whether the agent has a tool whose results may come from outside, or reads images."""
        try:
            config = self.configure(spec)
            return bool(_list_outside_tools(config)) or config.image_variable is not None
        except ValidationError:
            return False  # an incomplete draft, which cannot run

    async def run(self, prepared: AgentConfig, ctx: NodeContext) -> NodeResult:
        strategy = STRATEGIES.get(prepared.strategy)
        if strategy is None:
            raise NodeFailed("StrategyUnknown", f"There is no strategy {prepared.strategy!r}")
        prompt = await build_first_prompt(prepared, ctx)
        ctx.record_inputs({**_describe(prepared), **prompt.describe()})
        session = AgentSession(prepared, ctx, prompt.messages, prompt.memories)
        await session.open_tools()
        answer = await strategy.run(session)
        if answer.undone_text:
            ending = f"\n\n{answer.undone_text}" if answer.text.strip() else answer.undone_text
            ctx.stream("text", ending)
            answer = replace(answer, text=answer.text + ending)
        if session.label and answer.text.strip():
            ctx.stream("text", session.label)
            answer = replace(answer, text=answer.text + session.label)
        return NodeResult(
            _build_outputs(session, answer), usage=session.total_usage, shortfall=answer.shortfall
        )

    async def preview_inputs(self, prepared: AgentConfig, ctx: NodeContext) -> dict[str, Json]:
        try:
            prompt = await preview_first_prompt(prepared, ctx)
        except EngineFault as fault:
            return {**_describe(prepared), "prompt_error": fault.message}
        return {**_describe(prepared), **prompt.describe()}


# The built-in tools that only compute.
_TRUSTED: Final = frozenset(
    ToolReference("builtin", tool.spec.name) for tool in BUILTIN_TOOLS if not tool.is_untrusted
)


def _list_outside_tools(config: AgentConfig) -> list[AgentTool]:
    return [tool for tool in config.all_tools if tool.reference not in _TRUSTED]


def _find_blank_settings(node_id: str, config: AgentConfig) -> Iterator[Problem]:
    for index, tool in enumerate(config.tools):
        for name in tool.blank_settings:
            message = f"{name}: choose a variable"
            field = f"tools.{index}.settings"
            yield build_warning("agent.setting", message, node=node_id, field=field)


def _find_outside_problems(node_id: str, config: AgentConfig) -> Iterator[Problem]:
    """Warn of an agent whose tools could be told by a page to send away what it remembers.

    The functions of merged workflows have their settings there.
    """
    names = [tool.name for tool in list_open_tools(config)]
    if config.has_memory and names:
        message = (
            f"The agent has memory, and text from outside reaches it through {', '.join(names)}:"
            " let a person allow each call of these tools"
        )
        yield build_warning("agent.outside", message, node=node_id, field="tools")


def list_open_tools(config: AgentConfig) -> list[AgentTool]:
    """Return the tools whose results may come from outside, and about whose calls nobody is asked."""
    return [
        tool
        for tool in _list_outside_tools(config)
        if not tool.needs_approval and tool.name != ALL_TOOLS
    ]


def _describe(config: AgentConfig) -> dict[str, Json]:
    return {**describe_model(config.model), "strategy": config.strategy}


def _build_outputs(session: AgentSession, answer: AgentAnswer) -> dict[str, Json]:
    calls = [call for each_round in session.rounds for call in each_round.calls]
    return {
        "text": answer.text,
        "reasoning_content": answer.reasoning,
        "files": [dict(file) for call in calls for file in call.files],
        "json": [item for call in calls for item in call.data],
        "usage": describe_usage(session.total_usage),
        "rounds": [
            each_round.describe(number) for number, each_round in enumerate(session.rounds, start=1)
        ],
        "finish_reason": answer.finish_reason,
        "todos": [dict(todo) for todo in answer.todos],
        "notes": [dict(note) for note in answer.notes],
    }
