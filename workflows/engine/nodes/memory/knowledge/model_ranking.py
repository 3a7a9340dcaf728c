"""Asks a reranking model which of several texts answer a question best. Without one, the order they have is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from workflows.engine.configuration import ConfigPart
from workflows.engine.errors import ModelFailed, RerankUnavailable
from workflows.engine.kinds import NodeContext
from workflows.engine.language.document import Json
from workflows.engine.model_records import describe_source, describe_usage
from workflows.engine.ports import ModelSource, RerankPort, RerankRequest, Usage


# So many are found by words and meaning before they are ranked again.
CANDIDATES: Final = 50
_MAX_LENGTH: Final = 8_000  # characters of a text that a model is given


def count_candidates(count: int) -> int:
    """Return how many memories to recall if a model chooses ``count`` of them. Each is noted as read by the run."""
    return max(count, min(4 * count, CANDIDATES))


class RerankModel(ConfigPart):
    """A model of a connected provider. An empty one is the team's default."""

    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class ModelRanking:
    """The scores of texts by their index, best first; or ``failure``, why the model didn't rank them."""

    scores: Sequence[tuple[int, float]] = ()
    usage: Usage | None = None
    failure: str = ""

    @property
    def note(self) -> str:
        return f"not reranked: {self.failure}"


async def rank_texts(
    model: RerankModel, query: str, texts: Sequence[str], count: int, ctx: NodeContext
) -> ModelRanking:
    """Return the ranking of the best ``count`` texts, and record which model made it. A failure of the model is no error."""
    port: object = ctx.ports.model  # not every model port has models of this kind
    if not isinstance(port, RerankPort):
        name = f"the model {model.model} is not connected"
        return ModelRanking(failure=name if model.model else "no reranking model is chosen")
    documents = tuple(text[:_MAX_LENGTH] for text in texts)
    request = RerankRequest(
        model.provider, model.model, query, documents, min(count, len(texts)), ctx.origin
    )
    try:
        result = await port.rerank(request)
    except RerankUnavailable as unavailable:
        return ModelRanking(failure=unavailable.message)
    except ModelFailed as failure:
        _record(ctx, failure.source, error=failure.message)
        return ModelRanking(failure=failure.message)
    _record(ctx, result.source, result.usage)
    return ModelRanking(result.scores, result.usage)


def _record(
    ctx: NodeContext, source: ModelSource | None, usage: Usage | None = None, *, error: str = ""
) -> None:
    """Record the model that ranked or failed to, apart from one that the step may have asked for something else."""
    if source is not None:
        record: dict[str, Json] = {**describe_source(source)}
        record |= {"error": error} if error else {"usage": describe_usage(usage or Usage())}
        ctx.recorded_inputs["reranking"] = record
