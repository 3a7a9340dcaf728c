"""One run of an agent: calls its model and its tools, records every call, and keeps to its limits.

A strategy decides which calls are made; see ``strategies``. Everything that decides about the next call comes from the
recorded results of the calls before it, so that a repeated attempt makes the same decisions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from workflows.engine.errors import ModelFailed, NodeFailed, PortMissing
from workflows.engine.kinds import UNTRUSTED_KEYS, NodeContext
from workflows.engine.language.content_marks.shown_memories import iter_texts
from workflows.engine.language.content_marks.untrusted import is_influenced
from workflows.engine.language.document import Json
from workflows.engine.model_records import record_source
from workflows.engine.nodes.agent.agent_config import DEFAULT_ROUNDS, AgentConfig
from workflows.engine.nodes.agent.answer_stream import AnswerStream, HoldingStream, SilentStream
from workflows.engine.nodes.agent.model_answer import (
    ModelAnswer,
    describe_messages,
    read_answer,
    receive_answer,
)
from workflows.engine.nodes.agent.tool_use.approval import (
    Refused,
    ask_for_approval,
    build_asked_call,
    has_begun,
    was_refused_from_outside,
)
from workflows.engine.nodes.agent.tool_use.call_groups import (
    PreparedCall,
    get_duration,
    run_together,
    split_calls,
)
from workflows.engine.nodes.agent.tool_use.context_budget import fit_messages, get_budget
from workflows.engine.nodes.agent.tool_use.memory_tools import MEMORY_SOURCE, build_memory_tools
from workflows.engine.nodes.agent.tool_use.shown_memories import collect_memories
from workflows.engine.nodes.agent.tool_use.text_calls import (
    CallHidingStream,
    read_text_calls,
    split_blocks,
)
from workflows.engine.nodes.agent.tool_use.tool_results import (
    CallRecord,
    Round,
    build_error,
    read_outcome,
    render_for_model,
)
from workflows.engine.nodes.agent.tool_use.toolbox import (
    ModelReading,
    Toolbox,
    call_in_time,
    find_tools,
    read_arguments,
)
from workflows.engine.nodes.llm.model_calls import build_request
from workflows.engine.nodes.memory.memory_access import SECRET_REFUSED, has_secret
from workflows.engine.ports import MemoryHit, Message, ModelRequest, Origin, Usage
from workflows.engine.runtime.step_parts import PartResult, StepParts
from workflows.engine.runtime.step_records import StepError
from workflows.engine.runtime.waits import FORGETS_FOR_OUTSIDE, TAKES_MEMORY_OUTSIDE
from workflows.engine.sub_workflows.children import ROUND_KIND
from workflows.engine.sub_workflows.shares import Share
from workflows.engine.sub_workflows.spending import leave_for_call
from workflows.engine.sub_workflows.spending_limits import SpendingLimits
from workflows.engine.text_rendering import as_text
from workflows.engine.tool_calls import ToolCall, ToolResult, ToolSpec


MODEL_KIND: Final = ROUND_KIND
TOOL_KIND: Final = "agent-tool"
MAX_CALLS_PER_ROUND: Final = 16
# Seconds for the last answer of an agent whose time is up.
LAST_ANSWER_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """The end of an agent. ``finish_reason``: stop, or the limit that ended it."""

    text: str
    finish_reason: str = "stop"
    reasoning: str = ""
    # Of the todo loop only.
    todos: Sequence[Mapping[str, Json]] = ()
    notes: Sequence[Mapping[str, Json]] = ()
    # What it left undone: the sentences that end its answer, and the reason for the page of the run.
    undone_text: str = ""
    shortfall: StepError | None = None


class AgentSession:
    """A strategy works with this session. ``messages`` is the first prompt, ``tools`` are what the model may call."""

    def __init__(
        self,
        config: AgentConfig,
        ctx: NodeContext,
        messages: Sequence[Message],
        memories: Sequence[MemoryHit] = (),
    ) -> None:
        if ctx.ports.model is None:
            raise PortMissing("model")
        if ctx.parts is None:
            raise PortMissing("parts")
        self.config, self.ctx = config, ctx
        self.messages, self.memories = tuple(messages), tuple(memories)
        self.toolbox = Toolbox()
        self.rounds: list[Round] = []
        self.usage = Usage()
        self._group_usage = Usage()  # of the calls made together that have ended
        self.seconds = 0.0  # of all calls, without the time in which the run was paused
        self.max_rounds = DEFAULT_ROUNDS if config.max_rounds is None else config.max_rounds
        self.label = ""  # of the last answer of the model
        self._parts: StepParts = ctx.parts
        self._model = ctx.ports.model
        self._has_read_untrusted = UNTRUSTED_KEYS in ctx.recorded_inputs or is_influenced(
            ctx.node_id, config.selectors, ctx.untrusted
        )
        self._shown_memories = collect_memories(config, ctx, self.memories)
        ctx.record_memories(as_text(hit.value) for hit in self.memories)
        self._previous_messages: Sequence[Message] = ()

    @property
    def parts(self) -> StepParts:
        return self._parts

    @property
    def total_usage(self) -> Usage:
        """Return the tokens of all calls, those of earlier attempts included."""
        return replace(self._parts.usage, cost=self.usage.cost)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return self.toolbox.specs

    async def open_tools(self) -> None:
        """Find the tools. Raises ToolFailed for one that the run may not use."""
        reading = ModelReading(lambda: self._has_read_untrusted, self._shown_memories.find_in)
        memory_tools = build_memory_tools(
            self.config.memory_tools, self.ctx, reading.has_untrusted, self.config.knowledge_bases
        )
        self.toolbox = await find_tools(self.config.all_tools, memory_tools, self.ctx, reading)

    @property
    def has_read_untrusted(self) -> bool:
        return self._has_read_untrusted

    def mark_untrusted(self, keys: Sequence[str] = ()) -> None:
        """Note that the model has read untrusted content: entries of memory, or results of a tool."""
        self._has_read_untrusted = True
        self.ctx.record_untrusted_keys(keys)

    def add_shown_memories(self, hits: Sequence[MemoryHit]) -> None:
        """Note memories that the model is shown after the first prompt, to recognize them in the arguments of a call."""
        self._note_memories([as_text(hit.value) for hit in hits])

    # -- calls ------------------------------------------------------------------------------------

    async def call_model(
        self,
        part: str,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec] = (),
        *,
        stream: AnswerStream | None = None,
        params: Mapping[str, Json] | None = None,
        stop_pattern: Any = None,  # a compiled regular expression, after whose match the answer ends
        seconds: float | None = None,
        ignores_calls: bool = False,
        memories: Sequence[MemoryHit] = (),
    ) -> ModelAnswer:
        """Call the model, or return what it answered in an earlier attempt. ``part`` is the name of the call.

        With ``ignores_calls``, a call that the model makes although it was offered no tool is no error.
        ``memories`` are in the messages, in addition to those of the first prompt.
        """
        stream = stream or SilentStream()
        messages = self._fit(messages, tools)
        is_recorded = True
        limit = self.get_seconds_left() if seconds is None else seconds

        async def call(origin: Origin) -> PartResult:
            nonlocal is_recorded
            is_recorded = False
            request = self._build_request(messages, tools, origin, params or {}, memories)
            chunks = self._model.stream(request)
            answer = await receive_answer(
                chunks,
                stream.add,
                self.ctx.ports.clock,
                limit,
                stop_pattern,
                ignores_calls=ignores_calls,
            )
            if tools:
                answer = read_text_calls(answer, messages)
            return PartResult(answer.to_outputs(), answer.usage)

        inputs = {
            "messages": describe_messages(messages, self._previous_messages),
            "tools": [tool.label for tool in tools],
        }
        self._previous_messages = tuple(messages)  # a strategy may extend its own list
        try:
            outputs = await self._parts.run(
                part, MODEL_KIND, call, title=self.config.model.name, inputs=inputs
            )
        except ModelFailed as failure:
            record_source(self.ctx, failure.source)
            raise
        answer = read_answer(outputs)
        record_source(self.ctx, answer.source)
        if is_recorded:
            stream.add(answer.text)
        self.usage += answer.usage
        self.seconds += answer.seconds
        self.label = answer.label
        return answer

    async def call_tool(self, part: str, call: ToolCall) -> ToolResult:
        """Call a tool, or return what it answered in an earlier attempt. A failure is a result, too.

        Raises StepWaiting, which pauses the run, if a person has to agree and has not answered yet.
        """
        [result] = await self._call_together([self._prepare(part, call)])
        return result

    async def call_tools(self, number: int, calls: Sequence[ToolCall]) -> list[Message]:
        """Call the tools of a round, independent ones at the same time. Return the messages with their answers.

        The messages are in the order of the calls, and so are the untrusted results that the session notes.
        """
        prepared = [
            self._prepare(f"{number}.tool.{position}", call)
            for position, call in enumerate(calls[:MAX_CALLS_PER_ROUND], start=1)
        ]
        texts: list[str] = []
        for group in split_calls(prepared):
            texts += [result.text for result in await self._call_together(group)]
        too_many = f"Error: at most {MAX_CALLS_PER_ROUND} calls are made in one round."
        texts += [too_many] * (len(calls) - len(texts))
        return [
            Message("tool", text, tool_call_id=call.id)
            for call, text in zip(calls, texts, strict=True)
        ]

    def begin_round(self, answer: ModelAnswer) -> None:
        """List a round among the outputs. The calls that follow belong to it."""
        self.rounds.append(Round(answer.text, answer.reasoning, usage=answer.usage))

    # -- limits -----------------------------------------------------------------------------------

    def get_seconds_left(self) -> float | None:
        limit = self.config.timeout_seconds
        return None if limit is None else max(limit - self.seconds, 0)

    def find_limit(self, rounds: int) -> str | None:
        """Return the name of the limit that the agent has reached, if any.

        What the workflows that it called have spent counts, with all that they called.
        """
        config = self.config
        if rounds >= self.max_rounds:
            return "max_rounds"
        if reached := self._spending_limits.find_reached(self.usage):
            return reached
        if config.timeout_seconds is not None and self.seconds >= config.timeout_seconds:
            return "timeout"
        return None

    async def give_last_answer(
        self, number: int, messages: Sequence[Message], limit: str, *, last_text: str = ""
    ) -> AgentAnswer:
        """Ask the model to answer with what it knows, without tools, because a limit is reached.

        If it writes no text, such as a model that calls a tool all the same, the answer names the limit, and says what
        is ``last_text``, or else what the model wrote last.
        """
        request = Message("system", _LAST_ANSWER[limit])
        seconds = self.get_seconds_left()
        stream = self.open_stream(holds=False)
        answer = await self.call_model(
            f"{number}.model",
            [*messages, request],
            stream=stream,
            seconds=None if seconds is None else max(seconds, LAST_ANSWER_SECONDS),
            ignores_calls=True,
        )
        if self.tools:  # a small model may write a call although it is offered no tool
            answer = replace(answer, text=split_blocks(answer.text)[0])
        text = answer.text
        if not text.strip():
            text = self._describe_limit(limit, last_text)
            stream.add(text)
        self.begin_round(answer)
        return AgentAnswer(text, limit, answer.reasoning)

    def open_stream(self, *, holds: bool = True) -> AnswerStream:
        """Return the stream that shows users the text of a message, if it is the answer."""

        def emit(piece: str) -> None:
            self.ctx.stream("text", piece)

        stream = HoldingStream(emit) if holds else HoldingStream(emit, 0)
        return CallHidingStream(stream) if self.tools else stream

    # ---------------------------------------------------------------------------------------------

    @property
    def _spending_limits(self) -> SpendingLimits:
        return SpendingLimits(self.config.max_tokens, self.config.max_cost)

    def _get_spending_left(self) -> SpendingLimits:
        return self._spending_limits.subtract(self.usage + self._group_usage)

    def _describe_limit(self, limit: str, last_text: str) -> str:
        """Return the answer to the person of an agent that reached a limit and got no answer of its model."""
        task = next((m.text for m in reversed(self.messages) if m.role == "user"), "")
        sentences = _LIMIT_REACHED["zh" if _CHINESE.search(task[:2000]) else "en"]
        last = next((each.thought for each in reversed(self.rounds) if each.thought.strip()), "")
        return "\n\n".join(filter(None, (sentences[limit], last_text or last.strip())))

    def _fit(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Sequence[Message]:
        """Return the messages as they fit into the context window of the model."""
        config = self.config
        params = config.model.completion_params or {}
        budget = get_budget(config.context_window, tools, params.get("max_tokens"))
        return fit_messages(messages, len(self.messages), budget)

    def _prepare(self, part: str, call: ToolCall) -> PreparedCall:
        """Return the call with its arguments read, or with what is wrong with it."""
        tool = self.toolbox.tools.get(call.name)
        if tool is None:
            error = self.toolbox.explain_unknown(call.name)
            return PreparedCall(part, call.name, None, call.arguments, error)
        name = tool.spec.label
        try:
            return PreparedCall(part, name, tool, read_arguments(call, tool.spec))
        except ValueError as invalid:
            return PreparedCall(part, name, tool, call.arguments, str(invalid))

    async def _call_together(self, calls: Sequence[PreparedCall]) -> list[ToolResult]:
        """Make the calls of one group. Return their results in the same order, whichever ended first."""
        calls = [await self._ask(call) if self._asks_person(call) else call for call in calls]
        key = f"{self.ctx.origin.idempotency_key}:{calls[0].part}"
        share = Share(key, self._get_spending_left())
        recorded = await run_together(calls, partial(self._record_call, share=share))
        self._group_usage = Usage()  # it is counted with the results
        self.seconds += get_duration([outputs["seconds"] for outputs in recorded])
        return [self._add_result(*each) for each in zip(calls, recorded, strict=True)]

    def _asks_person(self, call: PreparedCall) -> bool:
        """Return whether a person has to allow the call.

        After the model has read untrusted content, that is also one that would take memories outside. A call that was
        made in an earlier attempt is not asked about again, whatever the model has read since.
        """
        if self._parts.is_finished(call.part) and call.part not in self.ctx.answers:
            return False
        if call.asks_person:
            return True
        is_outside = call.tool is not None and not call.error and call.tool.is_outside
        return (
            is_outside and self._has_read_untrusted and self._shown_memories.is_in(call.arguments)
        )

    async def _ask(self, call: PreparedCall) -> PreparedCall:
        """Return the call if a person allowed it, or else with what the model is told."""
        if self._parts.is_finished(call.part):  # made or refused in an earlier attempt
            if was_refused_from_outside(self.ctx, call.part):
                self.mark_untrusted(("reason",))
            return call
        source = str(call.tool.description["source"]) if call.tool is not None else ""
        if await has_begun(self.ctx, source, self._parts.get_key(call.part)):
            return call
        try:
            question = await build_asked_call(call, self.ctx.origin, self._get_cause(call))
            ask_for_approval(self.ctx, self.config, call.part, question)
        except Refused as refusal:
            if refusal.is_untrusted:
                self.mark_untrusted(("reason",))
            return replace(call, error=str(refusal))
        return call.mark_allowed()

    def _get_cause(self, call: PreparedCall) -> str:
        """Return why a person is asked about a call for which its author asked nobody."""
        if not call.asks_person:
            return TAKES_MEMORY_OUTSIDE
        is_memory = call.tool is not None and call.tool.description["source"] == MEMORY_SOURCE
        return FORGETS_FOR_OUTSIDE if is_memory else ""

    def _add_result(self, call: PreparedCall, outputs: Mapping[str, Any]) -> ToolResult:
        """Note a result, and return it with the text that the model is given."""
        outcome = read_outcome(outputs)
        self.usage += outcome.usage
        if outcome.is_untrusted or outcome.untrusted_keys:
            self.mark_untrusted(outcome.untrusted_keys or (call.name,))
        result = outcome.result
        if call.tool is not None and call.tool.description["source"] == MEMORY_SOURCE:
            self._note_memories([*iter_texts(list(result.data))])
        self._note_memories(result.memories)
        if self.rounds:
            record = CallRecord(
                call.name, call.arguments, result.text, result.is_error, result.files, result.data
            )
            self.rounds[-1].calls.append(record)
        return replace(result, text=render_for_model(outcome))

    def _note_memories(self, texts: Sequence[str]) -> None:
        """Note memories that the model is shown, for its own calls and for what the run does with its answer."""
        self._shown_memories.add(texts)
        self.ctx.record_memories(texts)

    async def _record_call(self, prepared: PreparedCall, *, share: Share) -> Mapping[str, Any]:
        """Make the call, or take its result from an earlier attempt. ``share`` is that of the calls made together."""
        clock, limit = self.ctx.ports.clock, self.get_seconds_left()
        tool, name = prepared.tool, prepared.name

        async def call(origin: Origin) -> PartResult:
            started = clock.monotonic()
            if prepared.error or tool is None:
                outcome = build_error(prepared.error)
            elif await has_secret(self.ctx, prepared.arguments):
                outcome = build_error(SECRET_REFUSED)
            else:
                with leave_for_call(self._get_spending_left(), share):
                    outcome = await call_in_time(tool, prepared.arguments, origin, limit)
                self._group_usage += outcome.usage
            seconds = clock.monotonic() - started
            return PartResult(outcome.to_outputs(seconds), outcome.usage, outcome.events)

        description = tool.description if tool is not None else {}
        inputs = {"name": name, **description, "arguments": prepared.arguments}
        return await self._parts.run(
            prepared.part, TOOL_KIND, call, title=name[:100], inputs=inputs
        )

    def _build_request(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        origin: Origin,
        params: Mapping[str, Json],
        memories: Sequence[MemoryHit],
    ) -> ModelRequest:
        model = self.config.model
        if model.is_completion:
            raise NodeFailed("ModelUnsuitable", "An agent needs a chat model")
        request = build_request(
            model,
            messages,
            self.ctx,
            origin=origin,
            memories=(*self.memories, *memories),
            tools=tuple(tools),
            tool_choice="auto" if tools else "none",
        )
        return replace(request, params={**params, **request.params}) if params else request


_LAST_ANSWER: Final[Mapping[str, str]] = {
    "max_rounds": "You have used all your rounds and can call no more tools. Answer now with what you know.",
    "max_tokens": "You have used all your tokens and can call no more tools. Answer now, briefly, with what you know.",
    "max_cost": "You have spent all your money and can call no more tools. Answer now, briefly, with what you know.",
    "timeout": "Your time is up and you can call no more tools. Answer now, briefly, with what you know.",
}


# For the person, if the model gives no answer.
_LIMIT_REACHED: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "max_rounds": "The agent used all its rounds before it had an answer.",
        "max_tokens": "The agent used all its tokens before it had an answer.",
        "max_cost": "The agent reached its cost limit before it had an answer.",
        "timeout": "The agent ran out of time before it had an answer.",
    },
    "zh": {
        "max_rounds": "智能体用完了所有轮次，还没有得到答案。",
        "max_tokens": "智能体用完了所有 Token，还没有得到答案。",
        "max_cost": "智能体达到了费用上限，还没有得到答案。",
        "timeout": "智能体的时间已用完，还没有得到答案。",
    },
}
_CHINESE: Final = re.compile("[\u4e00-\u9fff]")
