"""The hub of a web process: one connection to the bus, whose messages it passes on to the followers of each topic.

Each feed also polls its rows periodically, because any message may be lost.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from json import loads
from typing import Any, ClassVar, Generic, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from config.http.batches import Batches
from workflows.engine.language.document import Json
from workflows.execution.events.bus import RETRY_AFTER, connect, get_bus_url


log = logging.getLogger(__name__)

POLL_WITH_BUS = 2.0  # seconds between polls of the rows, in case a message was lost
# A channel without messages, which keeps the subscription open while no topic has followers.
IDLE_CHANNEL = "hub:"

CHANNELS_AT_ONCE = 100  # in one command to the bus

Message = dict[str, Json]
M = TypeVar("M")
F = TypeVar("F", bound="Feed[Any]")


class Feed(ABC, Generic[M]):
    """The topics of one kind, such as runs, and their followers, which are of type ``M``.

    The channel of a topic is named by ``prefix``, a colon and the id of the topic.
    """

    prefix: ClassVar[str]
    poll_seconds_without_bus: ClassVar[
        float
    ]  # seconds between polls of the rows where there is no bus
    temporary_errors: ClassVar[
        tuple[type[Exception], ...]
    ]  # the errors of a poll that pass by themselves

    def __init__(self, hub: "Hub") -> None:
        self.hub = hub
        self.members: dict[UUID, set[M]] = {}

    @asynccontextmanager
    async def join(self, topic: UUID, member: M) -> AsyncIterator[None]:
        """Add the follower to the topic for the duration of the block."""
        members = self.members.setdefault(topic, set())
        members.add(member)
        self.hub.start_tasks()
        try:
            if len(members) == 1:
                await self.hub.subscribe(self.get_channel(topic))
            yield
        finally:
            members.discard(member)
            if not members and self.members.get(topic) is members:
                del self.members[topic]
                self.forget(topic)
                await self.hub.unsubscribe(self.get_channel(topic))

    @classmethod
    def get_channel(cls, topic: object) -> str:
        return f"{cls.prefix}:{topic}"

    @abstractmethod
    async def receive(self, topic: UUID, message: Message) -> None:
        """Pass a message of the bus on to the followers of the topic."""

    @abstractmethod
    async def poll(self) -> None:
        """Read the rows of all followed topics, and pass the changes on to the followers."""

    # A feed overrides these methods if it needs them.

    def on_connected(self) -> None:
        """Do what is necessary after a new connection to the bus: messages before it may have been lost."""

    def forget(self, topic: UUID) -> None:
        """Drop the state of a topic without followers."""

    async def close(self) -> None:
        """Close the feed's own connections."""


class Hub:
    """The hub of one event loop; see ``get_hub``."""

    def __init__(self, url: str | None) -> None:
        self.url = url
        self._feeds: dict[type[Feed[Any]], Feed[Any]] = {}
        self._subscription: PubSub | None = None
        self._confirmed: dict[str, asyncio.Event] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._polls: set[type[Feed[Any]]] = set()
        self._subscribing: Batches[str, None] = Batches(
            self._subscribe_together, size=CHANNELS_AT_ONCE, at_once=1
        )

    def get_feed(self, kind: type[F]) -> F:
        """Return this hub's feed of a class; the first call creates it."""
        if kind not in self._feeds:
            self._feeds[kind] = kind(self)
        feed: F = self._feeds[kind]  # type: ignore[assignment]
        return feed

    def find_feed(self, kind: type[F]) -> F | None:
        return self.get_feed(kind) if kind in self._feeds else None

    @property
    def has_bus(self) -> bool:
        return self._subscription is not None

    def start_tasks(self) -> None:
        """Start listening to the bus and polling the rows of each feed, unless that has been started."""
        if not self._tasks and self.url is not None:
            self._tasks.append(asyncio.create_task(self._listen(self.url)))
        for kind in self._feeds.keys() - self._polls:
            self._polls.add(kind)
            self._tasks.append(asyncio.create_task(self._poll(self._feeds[kind])))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        self._polls.clear()
        for feed in self._feeds.values():
            await feed.close()

    async def subscribe(self, channel: str) -> None:
        """Subscribe to the channel, and wait at most a second until the bus confirms it. Errors are only logged."""
        confirmed = self._confirmed.setdefault(channel, asyncio.Event())
        if self._subscription is None:
            return
        try:
            await self._subscribing.ask(channel)
            # The caller reads the rows next: a message published between them and the subscription would be missed.
            async with asyncio.timeout(1):
                await confirmed.wait()
        except (RedisError, OSError, TimeoutError) as error:
            log.debug("hub_subscribe_failed", extra={"why": str(error)})

    async def _subscribe_together(self, channels: Sequence[str]) -> list[None]:
        if self._subscription is not None:
            await self._subscription.subscribe(*channels)
        return [None for _ in channels]

    async def unsubscribe(self, channel: str) -> None:
        self._confirmed.pop(channel, None)
        if self._subscription is not None:
            try:
                await self._subscription.unsubscribe(channel)
            except (RedisError, OSError) as error:
                log.debug("hub_unsubscribe_failed", extra={"why": str(error)})

    async def _listen(self, url: str) -> None:
        while _is_active():
            redis = connect(url)
            try:
                async with redis.pubsub() as subscription:
                    await self._subscribe_all(subscription)
                    for feed in self._feeds.values():
                        feed.on_connected()
                    async for message in subscription.listen():
                        await self._handle_message(message)
                        if not _is_active():
                            return
            except (RedisError, OSError) as error:
                log.debug("hub_lost_the_bus", extra={"why": str(error)})
            except Exception:  # all streams of this process depend on the loop
                log.exception("hub_listening_failed")
            finally:
                self._subscription = None
                await redis.aclose()
            await asyncio.sleep(RETRY_AFTER)

    async def _subscribe_all(self, subscription: PubSub) -> None:
        """Subscribe to the channels of all followed topics, including topics that are added meanwhile."""
        subscribed: set[str] = set()
        while missing := {IDLE_CHANNEL, *self._list_channels()} - subscribed:
            await subscription.subscribe(*missing)
            subscribed |= missing
        self._subscription = subscription

    def _list_channels(self) -> set[str]:
        return {feed.get_channel(topic) for feed in self._feeds.values() for topic in feed.members}

    async def _handle_message(self, message: dict[str, Any]) -> None:
        channel = message["channel"]
        if message["type"] == "subscribe" and channel in self._confirmed:
            self._confirmed[channel].set()
        if message["type"] != "message":
            return
        prefix, _, topic = channel.partition(":")
        feed = next((feed for feed in self._feeds.values() if feed.prefix == prefix), None)
        if feed is None:
            return
        try:
            await feed.receive(UUID(topic), loads(message["data"]))
        except (ValueError, KeyError, TypeError) as error:  # the other feeds continue
            log.warning("hub_message_refused", extra={"channel": channel, "why": repr(error)})

    async def _poll(self, feed: Feed[Any]) -> None:
        while _is_active():
            await asyncio.sleep(POLL_WITH_BUS if self.has_bus else feed.poll_seconds_without_bus)
            if not feed.members:
                continue
            try:
                await feed.poll()
            except feed.temporary_errors as error:
                log.debug("hub_waits", extra={"feed": feed.prefix, "why": str(error)})
            except Exception:  # all streams of this feed depend on the loop
                log.exception("hub_poll_failed", extra={"feed": feed.prefix})


def _is_active() -> bool:
    """Return whether the task should go on.

    Libraries sometimes swallow a cancellation (``asyncio.wait_for`` of Python 3.11 does if its wait ends at the same
    moment), but the task remembers the request.
    """
    task = asyncio.current_task()
    return task is None or not task.cancelling()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def get_hub() -> Hub:
    """Return the hub of the running event loop; a web process has one."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(get_bus_url())
    return _hubs[loop]


def list_hubs() -> list[Hub]:
    return list(_hubs.values())
