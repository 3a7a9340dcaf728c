"""Live runs for the readers of one web process: one subscription, fanned out in memory.

A message is only ever a hint of what the rows will say, so anything may be lost on the way: a
reader that sees a gap, or hears nothing for a while, reads the rows.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from json import JSONDecodeError, loads
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from psycopg import Error as DatabaseError
from psycopg_pool import PoolTimeout
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from workflows.engine.document import Json
from workflows.execution.bus import RETRY_AFTER, bus_url, channel, connect
from workflows.execution.db import Database


log = logging.getLogger(__name__)

QUEUE = 256  # messages a reader may be behind before it is cut off
LOOK_WITH_BUS = 2.0  # seconds between looks at the rows, in case a message was lost
LOOK_ALONE = 0.4  # … where there is no bus
PEEK = "select run_id, last_seq, status from execution_peek(%s, %s)"
UNFINISHED = frozenset({"queued", "running", "paused"})

Message = dict[str, Json]
LOOK: Message = {}  # says no more than: read the rows


class TooSlow(Exception):
    """The reader fell so far behind that it has to start over from the rows."""


class Reader:
    """One stream's queue."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Message] = asyncio.Queue(QUEUE)
        self.cut_off = False

    def put(self, message: Message) -> None:
        try:
            self._queue.put_nowait(message)
        except asyncio.QueueFull:
            self.cut_off = True

    async def get(self) -> Message:
        """Raises TooSlow once messages were dropped."""
        if self.cut_off:
            raise TooSlow
        return await self._queue.get()


class Hub:
    """Belongs to one event loop; see ``hub``."""

    def __init__(self, url: str | None) -> None:
        self.db = Database()
        self._url = url
        self._readers: dict[UUID, set[Reader]] = {}
        self._teams: dict[UUID, UUID] = {}
        self._seen: dict[UUID, tuple[int, str]] = {}
        self._subscription: PubSub | None = None
        self._confirmed: dict[str, asyncio.Event] = {}
        self._duties: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def reading(self, team_id: UUID, run_id: UUID) -> AsyncIterator[Reader]:
        """Messages from now on; what was before is for the reader to read from the rows."""
        reader = Reader()
        readers = self._readers.setdefault(run_id, set())
        readers.add(reader)
        self._teams[run_id] = team_id
        self._begin()
        try:
            if len(readers) == 1:
                await self._subscribe(run_id)
            yield reader
        finally:
            readers.discard(reader)
            if not readers and self._readers.get(run_id) is readers:
                for known in (self._readers, self._teams, self._seen):
                    known.pop(run_id, None)
                await self._unsubscribe(run_id)

    async def close(self) -> None:
        for duty in self._duties:
            duty.cancel()
        await asyncio.gather(*self._duties, return_exceptions=True)
        self._duties = []
        await self.db.close()

    def _begin(self) -> None:
        if not self._duties:
            self._duties = [asyncio.create_task(self._look())]
            if self._url is not None:
                self._duties.append(asyncio.create_task(self._listen(self._url)))

    # -- the bus --------------------------------------------------------------------------------

    async def _subscribe(self, run_id: UUID) -> None:
        name = channel(run_id)
        heard = self._confirmed.setdefault(name, asyncio.Event())
        if self._subscription is None:
            return
        try:
            await self._subscription.subscribe(name)
            # Read the rows only after the subscription stands, or what falls between is missed.
            await asyncio.wait_for(heard.wait(), timeout=1)
        except (RedisError, OSError, TimeoutError) as error:
            log.debug("hub_subscribe_failed", extra={"why": str(error)})

    async def _unsubscribe(self, run_id: UUID) -> None:
        name = channel(run_id)
        self._confirmed.pop(name, None)
        if self._subscription is not None:
            try:
                await self._subscription.unsubscribe(name)
            except (RedisError, OSError) as error:
                log.debug("hub_unsubscribe_failed", extra={"why": str(error)})

    async def _listen(self, url: str) -> None:
        while _wanted():
            redis = connect(url)
            try:
                async with redis.pubsub() as subscription:
                    # The first channel keeps the connection open while nobody watches anything.
                    await subscription.subscribe("run:", *map(channel, self._readers))
                    self._subscription = subscription
                    self._tell_all(LOOK)
                    async for message in subscription.listen():
                        self._heard(message)
                        if not _wanted():
                            return
            except (RedisError, OSError) as error:
                log.debug("hub_lost_the_bus", extra={"why": str(error)})
            finally:
                self._subscription = None
                await redis.aclose()
            await asyncio.sleep(RETRY_AFTER)

    def _heard(self, message: dict[str, Any]) -> None:
        name = message["channel"]
        if message["type"] == "subscribe" and name in self._confirmed:
            self._confirmed[name].set()
        if message["type"] != "message":
            return
        try:
            readers = self._readers.get(UUID(name.removeprefix("run:")), ())
            body = loads(message["data"])
        except (ValueError, JSONDecodeError):
            return
        for reader in readers:
            reader.put(body)

    # -- the rows -------------------------------------------------------------------------------

    async def _look(self) -> None:
        while _wanted():
            await asyncio.sleep(LOOK_WITH_BUS if self._subscription else LOOK_ALONE)
            if not self._readers:
                continue
            try:
                runs = list(self._readers)
                teams = list({self._teams[run] for run in runs})
                found = await self.db.rows(PEEK, (teams, runs))
            except (DatabaseError, PoolTimeout, OSError) as away:
                log.debug("hub_waits", extra={"why": str(away)})
                continue
            for run_id, last_seq, status in found:
                moved = self._seen.get(run_id) != (last_seq, status)
                self._seen[run_id] = (last_seq, status)
                # Text without a bus shows in the rows once a second, and moves no sequence number.
                if moved or self._subscription is None:
                    for reader in self._readers.get(run_id, ()):
                        reader.put(LOOK)

    def _tell_all(self, message: Message) -> None:
        for readers in self._readers.values():
            for reader in readers:
                reader.put(message)


def _wanted() -> bool:
    """Libraries swallow a cancel now and then (``asyncio.wait_for`` of Python 3.11 does, when its wait is over at that
    very moment), but the task remembers having been asked.
    """
    task = asyncio.current_task()
    return task is None or not task.cancelling()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop: one a web process."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(bus_url())
    return _hubs[loop]
