"""How a container asks for its body to be run: it decides which rounds there are, the engine runs them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from workflows.engine.errors import WorkflowFault
from workflows.engine.language.document import Json
from workflows.engine.language.variables import VariablePool
from workflows.engine.runtime.step_records import StepError


# What a round begins with: heads of the pool, such as the container's own id.
Heads = Mapping[str, Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class Round:
    """A round that came to its end."""

    pool: VariablePool  # what its nodes left behind
    results: Mapping[str, Json] = field(default_factory=dict)  # of End nodes in the body
    broke: bool = False  # a node in it said that no round shall follow


class RoundFailed(WorkflowFault):
    """A round of a container failed."""

    def __init__(self, index: int, node: str, error: StepError) -> None:
        self.index, self.node, self.error = index, node, error
        super().__init__(error.message)

    @property
    def error_type(self) -> str:
        return self.error.type


class Held(BaseException):
    """A node inside waits for somebody to let it begin: the container is neither done nor failed.

    Not an Exception: no error mode or strategy may take it for one.
    """


class Rounds(Protocol):
    """Given to container kinds with their context.

    A round that was finished by an earlier attempt at the run is gone through again from what is
    stored, without a step of it being repeated; the kind notices nothing.
    """

    def begin(self, total: int | None) -> None:
        """Say how many rounds there will be at most, if it is known."""

    async def run(self, index: int, heads: Heads) -> Round:
        """Run one round. Raises RoundFailed.

        On a copy of the pool, of which only changes to conversation variables come back; for a kind
        that shares its pool, on that, with what the round before left taken out of it.
        """


async def side_by_side(count: int, width: int, run: Callable[[int], Awaitable[None]]) -> None:
    """``run(0)`` to ``run(count - 1)``, begun in order, ``width`` at a time; the first error ends all."""
    indexes = iter(range(count))
    held: list[Held] = []

    async def work() -> None:
        for index in indexes:
            try:
                await run(index)
            except Held as pause:  # what runs in other rounds may come to its end
                held.append(pause)
                return

    tasks = [asyncio.create_task(work()) for _ in range(min(width, count))]
    try:
        done, _pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task in done:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if held:
        raise held[0]
