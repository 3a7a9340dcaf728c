"""The calls that a model asks for in one answer: those that do not depend on each other are made at the same time.

The model has not seen any result when it asks for them, so calls of tools are independent. Calls that a person has to
allow are not, because they pause the run, and neither are those of memory, which may read what the call before them stored.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from workflows.engine.language.document import Json
from workflows.engine.nodes.agent.tool_use.toolbox import CallableTool, PortTool


MAX_AT_ONCE: Final = 4
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call with its arguments read. ``error`` is what the model is told instead of a result, if it can't be made."""

    part: str
    name: str
    tool: CallableTool | None
    arguments: Json
    error: str = ""

    @property
    def asks_person(self) -> bool:
        return self.tool is not None and not self.error and self.tool.needs_approval

    @property
    def is_independent(self) -> bool:
        if self.tool is None or self.error:
            return True
        return self.tool.is_independent and not self.tool.needs_approval

    def mark_allowed(self) -> "PreparedCall":
        """Return the call as a person has allowed it: it isn't made once its tool was changed, whyever they were asked."""
        tool = self.tool
        return replace(self, tool=tool.require_approval()) if isinstance(tool, PortTool) else self


def split_calls(calls: Sequence[PreparedCall]) -> Iterator[list[PreparedCall]]:
    """Yield the calls in their order: those that can be made at the same time together, any other one alone."""
    group: list[PreparedCall] = []
    for call in calls:
        if call.is_independent:
            group.append(call)
            continue
        if group:
            yield group
        yield [call]
        group = []
    if group:
        yield group


async def run_together(
    calls: Sequence[PreparedCall], run: Callable[[PreparedCall], Awaitable[T]]
) -> list[T]:
    """Run the calls, at most a few at once, and return their results in the order of the calls.

    If some raise, the others still end and are recorded; then the first error in that order is raised.
    """
    if len(calls) == 1:  # without a task, which costs more than all the rest
        return [await run(calls[0])]
    slots = asyncio.Semaphore(MAX_AT_ONCE)

    async def run_in_slot(call: PreparedCall) -> T:
        async with slots:
            return await run(call)

    outcomes = await asyncio.gather(*map(run_in_slot, calls), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]


def get_duration(seconds: Sequence[float]) -> float:
    """Return how long calls of these durations take together, which is the same when they are read from the record."""
    if len(seconds) == 1:
        return seconds[0]
    ends = [0.0] * MAX_AT_ONCE
    for duration in seconds:
        heapq.heappush(ends, heapq.heappop(ends) + duration)
    return max(ends)
