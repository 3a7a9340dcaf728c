"""The interface by which a container has its body run: the kind decides on the rounds, the engine runs them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Json
from workflows.engine.language.variables import VariablePool
from workflows.engine.runtime.step_records import StepError


if TYPE_CHECKING:
    from workflows.engine.kinds import NodeContext


# The initial variables of a round, by their source in the pool, such as the container's id.
RoundVariables = Mapping[str, Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The result of a completed round."""

    pool: VariablePool  # the variables after the round
    results: Mapping[str, Json] = field(default_factory=dict)  # outputs of End nodes in the body
    is_last: bool = False  # a node in it ended the loop


class RoundFailed(EngineFault):
    """A round of a container failed."""

    def __init__(self, index: int, node: str, error: StepError) -> None:
        self.index, self.node, self.error = index, node, error
        super().__init__(error.message)

    @property
    def error_type(self) -> str:
        return self.error.type


class StepPaused(BaseException):
    """A node inside a container is paused, so the container has neither succeeded nor failed.

    This is not an Exception, so that no error mode or strategy handles it.
    """


class Rounds(Protocol):
    """Runs the rounds of a container for its kind, which finds this as ``body`` in its context.

    A round that an earlier attempt finished is replayed from its stored steps, which do not run again.
    """

    def begin(self, total: int | None) -> None:
        """Announce the maximum number of rounds, if it is known."""

    async def run(self, index: int, variables: RoundVariables) -> RoundResult:
        """Run one round. Raise RoundFailed if it fails.

        The round works on a copy of the pool, from which only changes to conversation variables are taken over. If the
        kind shares its pool, the round works on that pool itself, without the outputs of the previous round.
        """

    async def distribute(self, count: int, limit: int, *, stops_at_failure: bool) -> int | None:
        """Have the workers of the installation run the rounds, at most ``limit`` at a time, and record their steps.

        A call of ``run`` then replays a recorded round. Return the index of the failed round if one failed and the
        failure ends the container. Nothing is recorded where rounds can't be distributed; then ``run`` runs them.
        """


@runtime_checkable
class RunsRounds(Protocol):
    """A kind of container whose rounds may run on another worker than the container's own step."""

    async def run_rounds(
        self,
        prepared: Any,  # the result of the kind's ``prepare``
        ctx: "NodeContext",
        indexes: Sequence[int],
        limit: int,
    ) -> int | None:
        """Run these rounds, at most ``limit`` at a time. Return the index of a failed one that ends the container."""


async def run_concurrently(count: int, limit: int, run: Callable[[int], Awaitable[None]]) -> None:
    """Await ``run(0)`` to ``run(count - 1)``, started in order, at most ``limit`` at a time.

    The first error cancels all. If a call is paused, the others go on, and the first StepPaused is raised at the end.
    """
    if not count:
        return
    indexes = iter(range(count))
    pauses: list[StepPaused] = []

    async def run_remaining() -> None:
        for index in indexes:
            try:
                await run(index)
            except StepPaused as pause:
                pauses.append(pause)
                return

    tasks = [asyncio.create_task(run_remaining()) for _ in range(min(limit, count))]
    try:
        finished, _pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task in finished:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if pauses:
        raise pauses[0]
