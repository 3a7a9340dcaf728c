"""The feed of runs: it passes the bus messages of runs on to the readers of their event streams."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from psycopg import Error as DatabaseError
from psycopg_pool import PoolTimeout

from workflows.execution.db import Database
from workflows.execution.events.bus import RUN_PREFIX
from workflows.execution.events.hub import Feed, Hub, Message, get_hub


QUEUE_SIZE = 256  # messages that a reader may be behind before it is disconnected
READ_STATUS = "select run_id, last_seq, status from execution_peek(%s, %s)"
UNFINISHED = frozenset({"queued", "running", "paused"})

READ_ROWS: Message = {}  # a message without items, which only tells the reader to read the rows


class TooSlow(Exception):
    """The reader missed messages, so it has to continue from the rows."""


class Reader:
    """The queue of the messages for one event stream. It is cut off when it is full."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Message] = asyncio.Queue(QUEUE_SIZE)
        self.cut_off = False

    def put(self, message: Message) -> None:
        try:
            self._queue.put_nowait(message)
        except asyncio.QueueFull:
            self.cut_off = True

    async def get(self) -> Message:
        """Return the next message. Raises TooSlow if the queue was full and a message was dropped."""
        if self.cut_off:
            raise TooSlow
        return await self._queue.get()


class RunFeed(Feed[Reader]):
    """Sends each reader the messages of its run. A reader that notices a gap reads the rows."""

    prefix = RUN_PREFIX
    poll_seconds_without_bus = 0.4
    temporary_errors = (DatabaseError, PoolTimeout, OSError)

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self.db = Database()
        self._teams: dict[UUID, UUID] = {}
        self._seen: dict[UUID, tuple[int, str]] = {}

    @asynccontextmanager
    async def open_reader(self, team_id: UUID, run_id: UUID) -> AsyncIterator[Reader]:
        """Provide a reader of the messages from now on; earlier events are in the rows."""
        reader = Reader()
        self._teams[run_id] = team_id
        async with self.join(run_id, reader):
            yield reader

    async def receive(self, topic: UUID, message: Message) -> None:
        for reader in self.members.get(topic, ()):
            reader.put(message)

    async def poll(self) -> None:
        runs = list(self.members)
        teams = list({self._teams[run] for run in runs})
        for run_id, last_seq, status in await self.db.fetch_rows(READ_STATUS, (teams, runs)):
            has_changed = self._seen.get(run_id) != (last_seq, status)
            self._seen[run_id] = (last_seq, status)
            # Without a bus, text appears in the rows once a second and without a new sequence number.
            if has_changed or not self.hub.has_bus:
                await self.receive(run_id, READ_ROWS)

    def on_connected(self) -> None:
        for readers in self.members.values():
            for reader in readers:
                reader.put(READ_ROWS)

    def forget(self, topic: UUID) -> None:
        self._teams.pop(topic, None)
        self._seen.pop(topic, None)

    async def close(self) -> None:
        await self.db.close()


def get_run_feed() -> RunFeed:
    """Return the feed of the running event loop."""
    return get_hub().get_feed(RunFeed)
