"""Asks a model for a text that a memory node needs for itself, and does not show."""

from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from workflows.engine.configuration import ConfigPart
from workflows.engine.errors import ModelFailed, PortMissing
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.ports import Message, ModelRequest, Usage


class HelperModel(ConfigPart):
    """The model that a memory node asks. Without a provider, it is the default model of the team."""

    provider: str = ""
    name: str = ""
    completion_params: dict[str, Json] | None = None


async def ask_model(
    model: HelperModel,
    messages: Sequence[Message],
    ctx: NodeContext,
    **more: Any,  # the other fields of the request
) -> tuple[str, Usage | None]:
    """Return the whole answer and its tokens. Raises ModelFailed, also if the answer was cut off."""
    if ctx.ports.model is None:
        raise PortMissing("model")
    request = ModelRequest(
        provider=model.provider,
        model=model.name,
        messages=tuple(messages),
        origin=ctx.origin,
        params=model.completion_params or {},
        **more,
    )
    parts: list[str] = []
    usage: Usage | None = None
    # Always close the stream, as in an LLM node.
    async with aclosing(ctx.ports.model.stream(request)) as chunks:  # type: ignore[type-var]
        async for chunk in chunks:
            parts.append(chunk.text)
            usage = chunk.usage or usage
            if chunk.finish_reason == "error":
                raise ModelFailed("The model's answer was cut off", retryable=True)
    return "".join(parts), usage
