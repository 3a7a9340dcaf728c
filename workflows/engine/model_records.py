"""What the record of a step says about the model that it asked: which one answered, its tokens and their cost."""

from collections.abc import Mapping
from typing import Any, Final

from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.ports import FailedModel, ModelSource, Usage


USAGE: Final = "__usage"  # the output with the usage of a node whose outputs are otherwise those of its document


def record_source(ctx: NodeContext, source: ModelSource | None) -> None:
    """Record the model that was really asked, and beside it the one that the document names if that is another."""
    if source is None:
        return
    recorded = ctx.recorded_inputs.get("model")
    model: dict[str, Json] = describe_source(source)
    if isinstance(recorded, dict):
        reference = {"provider": recorded.get("provider"), "name": recorded.get("name")}
        reference = recorded.get("requested", reference)
        if reference != {"provider": source.provider, "name": source.model}:
            model["requested"] = reference
    ctx.recorded_inputs["model"] = model


def describe_source(source: ModelSource) -> dict[str, Json]:
    description: dict[str, Json] = {"provider": source.provider, "name": source.model}
    if source.version:
        description["version"] = source.version
    if source.failed:
        description["failed"] = [
            {"provider": failed.provider, "name": failed.model, "error": failed.error}
            for failed in source.failed
        ]
    return description


def read_source(description: Mapping[str, Any]) -> ModelSource:  # Any: JSON
    """Return the source that ``describe_source`` described."""
    failed = (
        FailedModel(each["provider"], each["name"], each["error"])
        for each in description.get("failed", ())
    )
    return ModelSource(
        description["provider"], description["name"], description.get("version", ""), (*failed,)
    )


def describe_usage(usage: Usage) -> dict[str, Json]:
    """Return the tokens, and the cost if the price of the model is known."""
    cost = {} if usage.cost is None else {"cost": round(usage.cost, 9), "currency": "USD"}
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        **cost,
    }
