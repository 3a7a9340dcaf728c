"""Answer many questions that wait at the same time together, with a bounded number of batches at once."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar


Q = TypeVar("Q", bound=Hashable)
A = TypeVar("A")


class Batches(Generic[Q, A]):
    """The questions of one event loop. ``answer`` gets a list of them, and returns their answers in the same order.

    Equal questions that wait share an answer. One whose batch has begun isn't shared: its answer may be outdated.
    """

    def __init__(
        self, answer: Callable[[Sequence[Q]], Awaitable[Sequence[A]]], *, size: int, at_once: int
    ) -> None:
        self._answer = answer
        self._size = size
        self._at_once = at_once
        self._waiting: dict[Q, asyncio.Future[A]] = {}
        self._workers: set[asyncio.Task[None]] = set()

    async def ask(self, question: Q) -> A:
        future = self._waiting.get(question)
        if future is None:
            future = self._waiting[question] = asyncio.get_running_loop().create_future()
        if len(self._workers) < self._at_once:
            self._workers.add(asyncio.create_task(self._work()))
        # Shielded, because who stops waiting must not take the answer from the others.
        return await asyncio.shield(future)

    async def _work(self) -> None:
        try:
            await self._answer_waiting()
        finally:
            # In the step that has found nothing to do, not in a callback of the task: a question that is asked between
            # the two would leave its answer to a worker that has ended.
            self._workers -= {asyncio.current_task()}

    async def _answer_waiting(self) -> None:
        while self._waiting:
            questions = list(self._waiting)[: self._size]
            futures = [self._waiting.pop(question) for question in questions]
            try:
                answered = list(zip(futures, await self._answer(questions), strict=True))
            except asyncio.CancelledError:
                for future in futures:
                    future.cancel()
                raise
            except Exception as error:
                for future in futures:
                    future.set_exception(error)
                    future.exception()  # marks it as seen, because nobody may wait any more
                continue
            for future, answer in answered:
                future.set_result(answer)
