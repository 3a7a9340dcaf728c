"""In-process implementations of the engine's ports: the system clock, random ids and a journal in a list."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from uuid import uuid4

from workflows.engine.runtime.breakpoints import format_step_name
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.step_records import StepKey, StepRecord
from workflows.engine.runtime.waits import OpenWait


class SystemClock:
    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RandomIds:
    def new(self) -> str:
        return uuid4().hex


class ListJournal:
    """Keeps the events of a run in order. Every reader gets all of them, from the first."""

    def __init__(self) -> None:
        self.intents: list[StepKey] = []
        self.records: list[StepRecord] = []
        self.events: list[Event] = []
        self._closed = False
        self._readers: list[asyncio.Future[None]] = []

    async def intend(self, step: StepKey) -> None:
        self.intents.append(step)

    async def record(self, record: StepRecord, events: Sequence[Event]) -> None:
        self.records.append(record)
        self.events.extend(events)
        if self._readers:
            self._wake()

    def add_event(self, event: Event) -> None:
        self.events.append(event)
        if self._readers:
            self._wake()

    async def open_wait(self, open_wait: OpenWait) -> str:
        """Return the name of the step and its part as the id. Nothing is stored: the run's result has the wait."""
        key = open_wait.key
        return ":".join(filter(None, (format_step_name(key), key.part)))

    # Streamed text is kept like any other event.
    publish = add_event

    async def flush(self) -> None:
        """Do nothing, because there is no storage behind the list."""

    def close(self) -> None:
        self._closed = True
        self._wake()

    async def read(self) -> AsyncIterator[Event]:
        position = 0
        while True:
            while position < len(self.events):
                position += 1
                yield self.events[position - 1]
            if self._closed:
                return
            waiter = asyncio.get_running_loop().create_future()
            self._readers.append(waiter)
            await waiter

    def _wake(self) -> None:
        readers, self._readers = self._readers, []
        for waiter in readers:
            if not waiter.done():
                waiter.set_result(None)
