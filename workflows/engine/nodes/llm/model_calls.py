"""Calls a model for a node: builds the request, streams the answer, and describes both for the step's record."""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from workflows.engine.errors import ModelFailed, PortMissing
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.language.templating import Template
from workflows.engine.model_records import record_source
from workflows.engine.nodes.llm.images import describe_images
from workflows.engine.nodes.llm.llm_config import ModelChoice
from workflows.engine.nodes.llm.reasoning import ReasoningSplitter
from workflows.engine.ports import Message, ModelRequest, ModelSource, Origin, Usage
from workflows.engine.tool_calls import ToolCall


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    text: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    finish_reason: str | None
    source: ModelSource | None = None


def build_request(
    model: ModelChoice,
    messages: Sequence[Message],
    ctx: NodeContext,
    *,
    origin: Origin | None = None,  # of one of several calls of the step
    **more: Any,  # the other fields of the request
) -> ModelRequest:
    """Return a request to the chosen model, whose parameters may hold references."""
    params = {
        name: Template.of(value).render_text(ctx.pool) if isinstance(value, str) else value
        for name, value in (model.completion_params or {}).items()
    }
    return ModelRequest(
        provider=model.provider,
        model=model.name,
        messages=tuple(messages),
        origin=origin or ctx.origin,
        mode="completion" if model.is_completion else "chat",
        params=params,
        fallback=model.get_fallback(),
        **more,
    )


async def call_model(
    request: ModelRequest,
    ctx: NodeContext,
    *,
    output: str | None = None,  # the output to which the text is streamed
    has_tagged_reasoning: bool = False,  # the reasoning stays in the text
) -> ModelAnswer:
    """Return the model's answer, and record which model gave it. Raises ModelFailed, also if the connection broke off."""
    try:
        answer = await _receive_answer(request, ctx, output, has_tagged_reasoning)
    except ModelFailed as failure:
        record_source(ctx, failure.source)
        raise
    record_source(ctx, answer.source)
    return answer


async def _receive_answer(
    request: ModelRequest, ctx: NodeContext, output: str | None, has_tagged_reasoning: bool
) -> ModelAnswer:
    if ctx.ports.model is None:
        raise PortMissing("model")
    source: ModelSource | None = None
    reasoning = ReasoningSplitter(tagged=has_tagged_reasoning)
    usage, finish_reason, label = Usage(), None, ""
    tool_calls: tuple[ToolCall, ...] = ()
    # Always close the stream, or the connection of a cancelled run would stay open until garbage collection.
    async with aclosing(ctx.ports.model.stream(request)) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            text = reasoning.feed(chunk.text, chunk.reasoning)
            if text and output:
                ctx.stream(output, text)
            usage = chunk.usage or usage
            finish_reason = chunk.finish_reason or finish_reason
            tool_calls = chunk.tool_calls or tool_calls
            label = chunk.label or label
            source = chunk.source or source
    rest = reasoning.end() + label
    if rest and output:
        ctx.stream(output, rest)
    if finish_reason == "error":
        raise ModelFailed("The model's answer was cut off", retryable=True)
    return ModelAnswer(
        text="".join(reasoning.text) + label,
        reasoning="".join(reasoning.reasoning).strip(),
        tool_calls=tool_calls,
        usage=usage,
        finish_reason=finish_reason,
        source=source,
    )


def describe_model(model: ModelChoice) -> dict[str, Json]:
    return {"model": {"provider": model.provider, "name": model.name}}


def describe_request(model: ModelChoice, request: ModelRequest) -> dict[str, Json]:
    """Return what the step records of a request about one text."""
    messages = describe_messages(request.messages)
    return {**describe_model(model), "query": request.subject, "messages": messages}


def describe_messages(messages: Sequence[Message]) -> list[dict[str, Json]]:
    return [_describe_message(message) for message in messages]


def _describe_message(message: Message) -> dict[str, Json]:
    description: dict[str, Json] = {"role": message.role, "text": message.text}
    if message.images:
        description["images"] = describe_images(message.images)
    return description
