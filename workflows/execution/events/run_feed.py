"""The feed of runs: it passes the bus messages of runs on to the readers of their event streams."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import psycopg
from django.db import Error as OrmError
from psycopg_pool import PoolTimeout

from workflows.execution.db import Database
from workflows.execution.events.backlog import Backlog
from workflows.execution.events.bus import RUN_PREFIX
from workflows.execution.events.hub import Feed, Hub, Message, get_hub
from workflows.execution.events.run_watches import RunWatch, list_admitted
from workflows.execution.events.stream_events import share_events
from workflows.execution.threads import run_once_in_thread


QUEUE_SIZE = 256  # messages that a reader may be behind before it is disconnected
CHECK_SECONDS = 5.0  # between two checks whether the readers still may see their runs
READ_STATUS = "select run_id, last_seq, status from execution_peek(%s, %s)"
UNFINISHED = frozenset({"queued", "running", "paused"})

READ_ROWS: Message = {}  # a message without items, which only tells the reader to read the rows


class TooSlow(Exception):
    """The reader missed messages, so it has to continue from the rows."""


class AccessLost(Exception):
    """The reader may not see the run any more."""


class Reader:
    """The queue of the messages for one event stream. It is cut off when it is full."""

    def __init__(self, watch: RunWatch | None = None) -> None:
        self._queue: asyncio.Queue[Message] = asyncio.Queue(QUEUE_SIZE)
        self.watch = watch
        self.cut_off = False
        self._has_access = True

    def put(self, message: Message) -> None:
        try:
            self._queue.put_nowait(message)
        except asyncio.QueueFull:
            self.cut_off = True

    async def get(self) -> Message:
        """Return the next message. Raise TooSlow if the queue was full and a message was dropped."""
        if self.cut_off:
            raise TooSlow
        message = await self._queue.get()
        if not self._has_access:
            raise AccessLost
        return message

    def end(self) -> None:
        """End the stream, without the messages that are still queued."""
        self._has_access = False
        self.put(READ_ROWS)


class RunFeed(Feed[Reader]):
    """Sends each reader the messages of its run. A reader that notices a gap reads the rows."""

    prefix = RUN_PREFIX
    poll_seconds_without_bus = 0.4
    temporary_errors = (psycopg.Error, OrmError, PoolTimeout, OSError)

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self.db = Database()
        self.backlog = Backlog(self.db)
        self._teams: dict[UUID, UUID] = {}
        self._seen: dict[UUID, tuple[int, str]] = {}
        self._loop = asyncio.get_running_loop()
        self._checked_at = self._loop.time()

    @asynccontextmanager
    async def open_reader(
        self, team_id: UUID, run_id: UUID, watch: RunWatch | None = None
    ) -> AsyncIterator[Reader]:
        """Provide a reader of the messages from now on; earlier events are in the rows."""
        reader = Reader(watch)
        self._teams[run_id] = team_id
        async with self.join(run_id, reader):
            yield reader

    async def receive(self, topic: UUID, message: Message) -> None:
        message = share_events(message)
        for reader in self.members.get(topic, ()):
            reader.put(message)

    async def poll(self) -> None:
        await self._poll_rows()
        if self._loop.time() - self._checked_at >= CHECK_SECONDS:
            await self.end_refused()
            self._checked_at = self._loop.time()

    async def end_refused(self) -> None:
        """End the streams of readers that may not see their run any more."""
        readers = [reader for members in self.members.values() for reader in members]
        watches = {reader.watch for reader in readers if reader.watch}
        if not watches:
            return
        admitted = await run_once_in_thread(list_admitted, watches)
        for reader in readers:
            if reader.watch and reader.watch not in admitted:
                reader.end()

    async def _poll_rows(self) -> None:
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
