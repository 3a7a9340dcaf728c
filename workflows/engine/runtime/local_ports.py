"""The plainest answers to what the engine asks: the machine's clock, random ids, a journal in a list."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from uuid import uuid4

from workflows.engine.runtime.events import Event
from workflows.engine.runtime.step_records import StepKey, StepRecord


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RandomIds:
    def new(self) -> str:
        return uuid4().hex


class ListJournal:
    """Keeps everything, in order; any number of readers get all of it, early or late."""

    def __init__(self) -> None:
        self.intents: list[StepKey] = []
        self.records: list[StepRecord] = []
        self.events: list[Event] = []
        self._closed = False
        self._waiting: list[asyncio.Future[None]] = []

    async def intend(self, step: StepKey) -> None:
        self.intents.append(step)

    async def record(self, record: StepRecord, events: Sequence[Event]) -> None:
        self.records.append(record)
        self.events.extend(events)
        if self._waiting:
            self._wake()

    def note(self, event: Event) -> None:
        self.events.append(event)
        if self._waiting:
            self._wake()

    # Tokens are as good as any event here.
    publish = note

    async def flush(self) -> None:
        """There is nothing behind the list."""

    def close(self) -> None:
        self._closed = True
        self._wake()

    async def read(self) -> AsyncIterator[Event]:
        seen = 0
        while True:
            while seen < len(self.events):
                seen += 1
                yield self.events[seen - 1]
            if self._closed:
                return
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)
