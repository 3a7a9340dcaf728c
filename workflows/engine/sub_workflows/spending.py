"""What a run may spend: the tokens and the money that an agent above it has left when it starts the run.

An agent's limits hold for the workflows that it calls, too, and for those that these call. Each such run counts the calls
of its models, and what the runs below it have spent, and makes no further call once its share is used up. Calls that go
on at the same time reserve what they may cost, see ``shares``.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from workflows.engine.language.document import Json
from workflows.engine.ports import (
    ModelChunk,
    ModelPort,
    ModelRequest,
    OfflinePort,
    RerankPort,
    RerankRequest,
    RerankResult,
    Usage,
)
from workflows.engine.runtime.step_records import StepRecord
from workflows.engine.sub_workflows.shares import (
    Amount,
    EstimatePort,
    Share,
    SharePort,
    check_spending,
)
from workflows.engine.sub_workflows.spending_limits import NO_LIMITS, SpendingLimits


# What the agent that makes a call now has left for it, and what it shares with the other calls that it makes now.
_LEFT_FOR_CALL: ContextVar[SpendingLimits] = ContextVar("left_for_call", default=NO_LIMITS)
_SHARES_OF_CALL: ContextVar[tuple[Share, ...]] = ContextVar("shares_of_call", default=())


@contextmanager
def leave_for_call(limits: SpendingLimits, share: Share | None = None) -> Iterator[None]:
    """Let the runs that are started in the block spend at most this much, and of the share what others don't spend."""
    token = _LEFT_FOR_CALL.set(limits.choose_lower(_LEFT_FOR_CALL.get()))
    more = (share,) if share is not None and share.limits else ()
    shares_token = _SHARES_OF_CALL.set((*_SHARES_OF_CALL.get(), *more))
    try:
        yield
    finally:
        _SHARES_OF_CALL.reset(shares_token)
        _LEFT_FOR_CALL.reset(token)


@dataclass(frozen=True, slots=True)
class CallInProgress:
    """A call of a model, and what it has reserved, if anything."""

    shares: tuple[Share, ...] = ()
    id: str = ""


class Spending:
    """It counts what a run and those below it have spent of its limits, and knows the shares that it has with others."""

    def __init__(
        self,
        limits: SpendingLimits = NO_LIMITS,
        usage: Usage | None = None,
        *,
        shares: Iterable[Share] = (),
        port: SharePort | None = None,
        reserve_steps: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        self._limits, self.usage = limits, usage or Usage()
        self._shares, self.port = tuple(shares), port
        # For so many calls in progress, of those that are left to all runs below the start.
        self._reserve_steps = reserve_steps
        self._calls = 0  # in progress
        self._reserving = asyncio.Lock()  # one call of the run after the other

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

    def list_shares(self) -> tuple[Share, ...]:
        """Return the shares that a run that is started now has, the outermost one first."""
        shares = {share.key: share for share in (*self._shares, *_SHARES_OF_CALL.get())}
        return tuple(shares.values())

    def check(self) -> None:
        """Raise LimitReached if nothing is left."""
        check_spending(self._limits, self.usage)

    async def begin_call(self, amount: Amount) -> CallInProgress:
        """Reserve the amount, when others have left it. Raises LimitReached if nothing is left, or no step of the start."""
        self.check()
        if self._reserve_steps is not None:
            async with self._reserving:
                await self._reserve_steps(self._calls + 1)
                self._calls += 1
        else:
            self._calls += 1
        shares = self.list_shares()
        if self.port is None or not shares:
            return CallInProgress()
        try:
            return CallInProgress(shares, await self.port.reserve(shares, amount))
        except BaseException:
            self._calls -= 1
            raise

    async def end_call(self, call: CallInProgress, usage: Usage | None) -> None:
        """Count what the call has spent, also if its caller was cancelled."""
        self._calls -= 1
        if usage is not None:
            self.add(usage)
        if self.port is not None and call.id:
            await asyncio.shield(self.port.settle(call.shares, call.id, usage or Usage()))


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
        call = await self._spending.begin_call(await self._estimate(request))
        usage: Usage | None = None
        chunks = self._model.stream(request)
        try:
            async for chunk in chunks:
                usage = chunk.usage or usage
                yield chunk
        finally:
            await self._spending.end_call(call, usage)
            close = getattr(
                chunks, "aclose", None
            )  # of a generator, which the caller may have left early
            if close is not None:
                await close()

    async def is_offline(self, request: ModelRequest) -> bool:
        model: object = self._model
        return isinstance(model, OfflinePort) and await model.is_offline(request)

    async def _estimate(self, request: ModelRequest) -> Amount:
        if not self._spending.list_shares():
            return Amount()  # nobody asks
        model: object = self._model
        return Amount.of(await model.estimate(request) if isinstance(model, EstimatePort) else None)


class LimitedRerankModel(LimitedModel):
    """A limited model of a port that reranks, too."""

    def __init__(self, model: ModelPort, reranker: RerankPort, spending: Spending) -> None:
        super().__init__(model, spending)
        self._reranker = reranker

    async def rerank(self, request: RerankRequest) -> RerankResult:
        call = await self._spending.begin_call(Amount())
        usage: Usage | None = None
        try:
            result = await self._reranker.rerank(request)
            usage = result.usage
        finally:
            await self._spending.end_call(call, usage)
        return result


def limit_model(model: ModelPort | None, spending: Spending) -> ModelPort | None:
    """Return the port that counts its calls as spending. It can rerank if the given one can."""
    if model is None:
        return None
    port: object = model
    if isinstance(port, RerankPort):
        return LimitedRerankModel(model, port, spending)
    return LimitedModel(model, spending)
