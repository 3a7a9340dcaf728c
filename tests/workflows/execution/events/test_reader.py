"""The reader of a run, with rows and messages that the test sets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast
from uuid import UUID

from workflows.execution.db import Database
from workflows.execution.events.backlog import Backlog
from workflows.execution.events.reader import follow
from workflows.execution.events.run_feed import Reader, RunFeed
from workflows.execution.events.stream_events import share_events


TEAM, RUN = UUID(int=1), UUID(int=2)


class FakeFeed:
    """A run whose second event was too large for the bus, which only announces it."""

    def __init__(self) -> None:
        self.backlog = Backlog(cast(Database, self))
        self.reads = [
            ([[1, "run_started", {}]], 1, None, "running", 1),
            ([[2, "node_state_change", {}]], 1, None, "running", 2),
        ]

    async def fetch_rows(self, statement: str, values: object) -> list[Any]:
        return [self.reads.pop(0)]

    @asynccontextmanager
    async def open_reader(
        self, team_id: UUID, run_id: UUID, watch: object
    ) -> AsyncIterator[Reader]:
        reader = Reader()
        reader.put(share_events({"attempt": 1, "items": [["e", 2]]}))
        reader.put(share_events({"attempt": 1, "items": [["e", 3, "run_finished", {}]]}))
        yield reader


def test_follow_reads_an_announced_event_from_its_row_and_continues() -> None:
    async def collect() -> list[tuple[int | None, str]]:
        events = follow(cast(RunFeed, FakeFeed()), TEAM, RUN, 0, idle_seconds=5)
        return [(event.seq, event.name) async for event in events if event is not None]

    assert asyncio.run(collect()) == [
        (1, "run_started"),
        (2, "node_state_change"),
        (3, "run_finished"),
    ]
