"""What a run may spend: the tokens and the money that an agent above it has left when it starts the run.

An agent's limits hold for the workflows that it calls, too, and for those that these call. Each such run counts the calls
of its models, and what the runs below it have spent, and makes no further call once its share is used up.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from workflows.engine.errors import LimitReached
from workflows.engine.language.document import Json
from workflows.engine.ports import (
    ModelChunk,
    ModelPort,
    ModelRequest,
    RerankPort,
    RerankRequest,
    RerankResult,
    Usage,
)
from workflows.engine.runtime.step_records import StepRecord


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """The limits of a run with everything below it. None is no limit."""

    max_tokens: int | None = None
    max_cost: float | None = None  # USD

    def __bool__(self) -> bool:
        return self.max_tokens is not None or self.max_cost is not None

    def choose_lower(self, other: "SpendingLimits") -> "SpendingLimits":
        tokens = [each for each in (self.max_tokens, other.max_tokens) if each is not None]
        costs = [each for each in (self.max_cost, other.max_cost) if each is not None]
        return SpendingLimits(min(tokens, default=None), min(costs, default=None))

    def subtract(self, usage: Usage) -> "SpendingLimits":
        """Return what is left of the limits."""
        tokens, cost = self.max_tokens, self.max_cost
        return SpendingLimits(
            None if tokens is None else max(tokens - usage.total_tokens, 0),
            None if cost is None else max(cost - (usage.cost or 0.0), 0.0),
        )

    def find_reached(self, usage: Usage) -> str | None:
        """Return the name of the limit that the usage has reached, if any."""
        if self.max_tokens is not None and usage.total_tokens >= self.max_tokens:
            return "max_tokens"
        if self.max_cost is not None and (usage.cost or 0.0) >= self.max_cost:
            return "max_cost"
        return None

    def to_json(self) -> dict[str, Json]:
        return {"max_tokens": self.max_tokens, "max_cost": self.max_cost}

    @classmethod
    def from_json(cls, value: Mapping[str, Json] | None) -> "SpendingLimits":
        return cls(value["max_tokens"], value["max_cost"]) if value else NO_LIMITS


NO_LIMITS: Final = SpendingLimits()
# What the agent that makes a call now has left for it.
_LEFT_FOR_CALL: ContextVar[SpendingLimits] = ContextVar("left_for_call", default=NO_LIMITS)


@contextmanager
def leave_for_call(limits: SpendingLimits) -> Iterator[None]:
    """Let the runs that are started in the block spend at most this much."""
    token = _LEFT_FOR_CALL.set(limits.choose_lower(_LEFT_FOR_CALL.get()))
    try:
        yield
    finally:
        _LEFT_FOR_CALL.reset(token)


class Spending:
    """What a run and those below it have spent of its limits."""

    def __init__(self, limits: SpendingLimits = NO_LIMITS, usage: Usage | None = None) -> None:
        self._limits, self.usage = limits, usage or Usage()

    def add(self, usage: Usage) -> None:
        self.usage += usage

    def complete(self, usage: Usage) -> Usage:
        """Return the usage of the run with what its failed steps have spent, of which there is no record."""
        spent = self.usage
        return Usage(
            max(usage.prompt_tokens, spent.prompt_tokens),
            max(usage.completion_tokens, spent.completion_tokens),
            spent.cost if usage.cost is None else usage.cost,
        )

    def get_left(self) -> SpendingLimits:
        """Return what a run that is started now may spend."""
        return self._limits.subtract(self.usage).choose_lower(_LEFT_FOR_CALL.get())

    def check(self) -> None:
        """Raise LimitReached if nothing is left."""
        reached = self._limits.find_reached(self.usage)
        if reached is not None:
            limit = getattr(self._limits, reached)
            raise LimitReached(
                f"{reached} of the agent that called this workflow is used up: {limit:g} were left for it"
            )


def sum_recorded(records: Iterable[StepRecord]) -> Usage:
    """Return what earlier attempts at a run have spent: that of its steps, and of the parts of unfinished ones."""
    records = tuple(records)
    finished = {(each.key.node_id, each.key.rounds) for each in records if not each.key.part}
    usage = Usage()
    for record in records:
        if not record.key.part or (record.key.node_id, record.key.rounds) not in finished:
            usage += Usage(
                record.prompt_tokens, record.completion_tokens, _read_cost(record.outputs)
            )
    return usage


def _read_cost(outputs: Mapping[str, Json]) -> float | None:
    usage = outputs.get("usage") or outputs.get("__usage")
    cost = usage.get("cost") if isinstance(usage, Mapping) else None
    return float(cost) if isinstance(cost, int | float) else None


class LimitedModel:
    """Implements ``engine.ports.ModelPort``: counts what the calls of a run spend, and refuses those beyond its limits."""

    def __init__(self, model: ModelPort, spending: Spending) -> None:
        self._model, self._spending = model, spending

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self._spending.check()
        usage: Usage | None = None
        chunks = self._model.stream(request)
        try:
            async for chunk in chunks:
                usage = chunk.usage or usage
                yield chunk
        finally:
            if usage is not None:
                self._spending.add(usage)
            close = getattr(
                chunks, "aclose", None
            )  # of a generator, which the caller may have left early
            if close is not None:
                await close()


class LimitedRerankModel(LimitedModel):
    """A limited model of a port that reranks, too."""

    def __init__(self, model: ModelPort, reranker: RerankPort, spending: Spending) -> None:
        super().__init__(model, spending)
        self._reranker = reranker

    async def rerank(self, request: RerankRequest) -> RerankResult:
        self._spending.check()
        result = await self._reranker.rerank(request)
        if result.usage is not None:
            self._spending.add(result.usage)
        return result


def limit_model(model: ModelPort | None, spending: Spending) -> ModelPort | None:
    """Return the port that counts its calls as spending. It can rerank if the given one can."""
    if model is None:
        return None
    port: object = model
    if isinstance(port, RerankPort):
        return LimitedRerankModel(model, port, spending)
    return LimitedModel(model, spending)
