"""Asks a model for a text that a memory node needs for itself, and does not show."""

import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, Final

from workflows.engine.configuration import ModelReference
from workflows.engine.errors import ModelFailed, PortMissing
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.model_records import record_source
from workflows.engine.ports import Message, ModelRequest, ModelSource, OfflinePort, Usage


class HelperModel(ModelReference):
    """The model that a memory node asks. Without a provider, it is the default model of the team."""


async def has_model(model: HelperModel, ctx: NodeContext) -> bool:
    """Return whether a language model would answer, and not the offline provider by its rules."""
    port: object = ctx.ports.model
    if port is None:
        return False
    is_offline = isinstance(port, OfflinePort) and await port.is_offline(_build_request(model, ctx))
    return not is_offline


async def ask_model(
    model: HelperModel,
    messages: Sequence[Message],
    ctx: NodeContext,
    **more: Any,  # the other fields of the request
) -> tuple[str, Usage | None]:
    """Return the whole answer and its tokens, and record which model gave it.

    Raises ModelFailed, also if the answer was cut off.
    """
    if ctx.ports.model is None:
        raise PortMissing("model")
    request = _build_request(model, ctx, messages, **more)
    if model.provider:
        ctx.recorded_inputs["model"] = {"provider": model.provider, "name": model.name}
    parts: list[str] = []
    usage: Usage | None = None
    source: ModelSource | None = None
    try:
        # Always close the stream, as in an LLM node.
        async with aclosing(ctx.ports.model.stream(request)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                parts.append(chunk.text)
                usage = chunk.usage or usage
                source = chunk.source or source
                if chunk.finish_reason == "error":
                    raise ModelFailed("The model's answer was cut off", retryable=True)
    except ModelFailed as failure:
        source = failure.source or source
        raise
    finally:
        record_source(ctx, source)
    return "".join(parts), usage


def _build_request(
    model: HelperModel,
    ctx: NodeContext,
    messages: Sequence[Message] = (),
    **more: Any,  # the other fields of the request
) -> ModelRequest:
    return ModelRequest(
        provider=model.provider,
        model=model.name,
        messages=tuple(messages),
        origin=ctx.origin,
        params=model.completion_params or {},
        fallback=model.get_fallback(),
        **more,
    )


def read_object(reply: str) -> Json:
    """Return the JSON in a model's answer, which may have reasoning or other text before it. Raises ValueError."""
    text = reply.rsplit(_END_OF_REASONING, 1)[-1]
    value, _end = _DECODER.raw_decode(text, max(text.find("{"), 0))
    return value


_END_OF_REASONING: Final = "</think>"
_DECODER: Final = json.JSONDecoder(strict=False)  # models write line breaks into strings
