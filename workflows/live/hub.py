"""The drafts that are open in one web process: one subscription and one look at the rows for all of their tabs.

Rows are the truth and every event could be lost: a look every second or two says again what is so.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from json import JSONDecodeError, loads
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import Error as DatabaseError
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from workflows.engine.document import Json
from workflows.execution.bus import RETRY_AFTER, bus_url, connect
from workflows.execution.threads import in_thread
from workflows.live.board import Board, Card, board_of
from workflows.live.rows import Look, Watch, look
from workflows.live.seats import Said, Seat
from workflows.live.speaking import Speaker, channel


log = logging.getLogger(__name__)

LOOK_WITH_BUS = 2.0  # seconds
LOOK_ALONE = 1.0
ALL = "draft:"  # a channel nobody speaks on: it keeps the connection open while no draft is


class LiveHub:
    """Belongs to one event loop; see ``live_hub``."""

    def __init__(self, url: str | None) -> None:
        self.board: Board = board_of(url)
        self._url = url
        self._speaker = Speaker(url)
        self._seats: dict[UUID, set[Seat]] = {}
        self._shown: dict[UUID, dict[str, Card]] = {}
        self._subscription: PubSub | None = None
        self._duties: list[asyncio.Task[None]] = []
        self._loop = asyncio.get_running_loop()

    @asynccontextmanager
    async def sitting(self, seat: Seat) -> AsyncIterator[Seat]:
        """From now on the tab is seen by the others, and hears of them."""
        draft = seat.workflow_id
        seats = self._seats.setdefault(draft, set())
        seats.add(seat)
        self._begin()
        try:
            if len(seats) == 1:
                await self._subscribe(draft)
            await self.board.put(draft, {seat.key: seat.card})
            await self._show(draft, force=seat)
            await self._speaker.say(draft, {"kind": "card"})
            yield seat
        finally:
            seats.discard(seat)
            if not seats and self._seats.get(draft) is seats:
                self._seats.pop(draft, None)
                self._shown.pop(draft, None)
                await self._unsubscribe(draft)
            await self.board.drop(draft, seat.key)
            await self._show(draft)
            await self._speaker.say(draft, {"kind": "card"})

    async def close(self) -> None:
        for duty in self._duties:
            duty.cancel()
        await asyncio.gather(*self._duties, return_exceptions=True)
        self._duties = []
        await self._speaker.close()
        await self.board.close()

    def hear_from_thread(self, draft: UUID, body: dict[str, Any]) -> None:
        """Where there is no bus: from a request of this very process."""
        self._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self.hear(draft, body)))

    async def hear(self, draft: UUID, body: dict[str, Any]) -> None:
        if "revision" in body:
            for seat in list(self._seats.get(draft, ())):
                seat.tell_revision(int(body["revision"]), body.get("client"))
        elif body.get("kind") == "cursor":
            self._tell(draft, Said("cursor", body["cursor"]), but=body.get("from"))
        elif body.get("kind") == "comment":
            self._tell(draft, Said("comment", body["comment"]))
        elif body.get("kind") == "published":
            self._tell(draft, Said("published", {"number": body["number"]}))
        elif body.get("kind") == "card":
            self._take(draft, body)
            await self._show(draft)

    def _take(self, draft: UUID, body: dict[str, Any]) -> None:
        """A tab of this process said something of itself: that is what is renewed from now on."""
        for seat in self._seats.get(draft, ()):
            if "card" in body and seat.key == body.get("from"):
                seat.card.update(body["card"])

    def _tell(self, draft: UUID, said: Said, *, but: str | None = None) -> None:
        for seat in list(self._seats.get(draft, ())):
            if seat.key != but:
                seat.put(said)

    async def _show(self, draft: UUID, *, force: Seat | None = None) -> None:
        """Tell who is here where that changed; a tab that just came is told in any case."""
        cards = await self.board.read(draft)
        cards |= {seat.key: seat.card for seat in self._seats.get(draft, ())}
        changed = cards != self._shown.get(draft)
        if draft in self._seats:
            self._shown[draft] = {key: dict(card) for key, card in cards.items()}
        people: Json = [cards[key] for key in sorted(cards)]
        for seat in list(self._seats.get(draft, ())):
            if changed or seat is force:
                seat.put(Said("presence", {"people": people}))

    def _begin(self) -> None:
        if not self._duties:
            self._duties = [asyncio.create_task(self._look())]
            if self._url is not None:
                self._duties.append(asyncio.create_task(self._listen(self._url)))

    # -- the bus --------------------------------------------------------------------------------

    async def _subscribe(self, draft: UUID) -> None:
        await self._ask("subscribe", draft)

    async def _unsubscribe(self, draft: UUID) -> None:
        await self._ask("unsubscribe", draft)

    async def _ask(self, what: str, draft: UUID) -> None:
        if self._subscription is None:
            return
        try:
            await getattr(self._subscription, what)(channel(draft))
        except (RedisError, OSError) as error:
            log.debug("live_hub_lost_the_bus", extra={"why": str(error)})

    async def _listen(self, url: str) -> None:
        while _wanted():
            redis = connect(url)
            try:
                async with redis.pubsub() as subscription:
                    await subscription.subscribe(ALL, *map(channel, self._seats))
                    self._subscription = subscription
                    async for message in subscription.listen():
                        await self._heard(message)
                        if not _wanted():
                            return
            except (RedisError, OSError) as error:
                log.debug("live_hub_lost_the_bus", extra={"why": str(error)})
            finally:
                self._subscription = None
                await redis.aclose()
            await asyncio.sleep(RETRY_AFTER)

    async def _heard(self, message: dict[str, Any]) -> None:
        if message["type"] != "message":
            return
        try:
            draft = UUID(message["channel"].removeprefix("draft:"))
            body = loads(message["data"])
        except (ValueError, JSONDecodeError):
            return
        await self.hear(draft, body)

    # -- the rows -------------------------------------------------------------------------------

    async def _look(self) -> None:
        while _wanted():
            await asyncio.sleep(LOOK_WITH_BUS if self._subscription else LOOK_ALONE)
            if not self._seats:
                continue
            try:
                await self.look_now()
            except (DatabaseError, OSError) as away:
                log.debug("live_hub_waits", extra={"why": str(away)})

    async def look_now(self) -> None:
        seats = [seat for sitting in self._seats.values() for seat in sitting]
        watches: set[Watch] = {(seat.workflow_id, seat.user_id, seat.session) for seat in seats}
        found = await in_thread(look, {seat.team_id for seat in seats}, watches)
        for seat in seats:
            if (seat.workflow_id, seat.user_id, seat.session) in found.admitted:
                _tell_news(seat, found)
            else:
                seat.end()
        for draft, sitting in list(self._seats.items()):
            here = {seat.key: seat.card for seat in sitting if not seat.cut_off}
            await self.board.put(draft, here)
            await self._show(draft)


def _tell_news(seat: Seat, found: Look) -> None:
    seat.tell_revision(found.revisions.get(seat.workflow_id, 0), None)
    mark = found.comments.get(seat.workflow_id, "")
    if seat.comments is not None and seat.comments != mark:
        seat.put(Said("comment", {"mark": mark}))
    seat.comments = mark
    for run in found.runs:
        if run.workflow_id != seat.workflow_id or seat.user_id not in run.people:
            continue
        if seat.runs.get(run.id) != run.status:
            seat.runs[run.id] = run.status
            seat.put(Said("run", {"id": run.id, "status": run.status}))


def _wanted() -> bool:
    """Libraries swallow a cancel now and then; the task remembers having been asked."""
    task = asyncio.current_task()
    return task is None or not task.cancelling()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, LiveHub] = WeakKeyDictionary()


def live_hub() -> LiveHub:
    """The hub of the running event loop: one a web process."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = LiveHub(bus_url())
    return _hubs[loop]


def hubs() -> list[LiveHub]:
    return list(_hubs.values())
