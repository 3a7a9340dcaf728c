"""The drafts that are open in an event loop of a web process: one poll of the rows for all of their tabs.

The rows are authoritative and any event may be lost: a poll every second or two repeats the current state.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from django.db import Error as DatabaseError

from workflows.engine.language.document import Json
from workflows.execution.events.hub import Feed, Hub, Message, get_hub, list_hubs
from workflows.execution.threads import run_in_thread
from workflows.live.board import Board, Card, build_board
from workflows.live.publish import PREFIX, DraftPublisher
from workflows.live.rows import DraftNews, load_news
from workflows.live.seats import LiveEvent, Seat


class DraftFeed(Feed[Seat]):
    """The people on each draft, and their activity: a seat for each tab."""

    prefix = PREFIX
    poll_alone = 1.0
    failures = (DatabaseError, OSError)

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self.board: Board = build_board(hub.url)
        self._publisher = DraftPublisher(hub.url)
        self._sent_cards: dict[UUID, dict[str, Card]] = {}
        self._loop = asyncio.get_running_loop()

    @asynccontextmanager
    async def take_seat(self, seat: Seat) -> AsyncIterator[Seat]:
        """Make the tab visible to the others, and send it their events, for the duration of the block."""
        draft = seat.workflow_id
        try:
            async with self.join(draft, seat):
                await self.board.put(draft, {seat.key: seat.card})
                await self._send_presence(draft, force=seat)
                await self._publisher.publish(draft, {"kind": "card"})
                yield seat
        finally:
            await self.board.drop(draft, seat.key)
            await self._send_presence(draft)
            await self._publisher.publish(draft, {"kind": "card"})

    async def close(self) -> None:
        await self._publisher.close()
        await self.board.close()

    def forget(self, topic: UUID) -> None:
        self._sent_cards.pop(topic, None)

    def receive_from_thread(self, draft: UUID, body: Message) -> None:
        """Accept a message from a request of this process, if there is no bus."""
        self._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self.receive(draft, body)))

    async def receive(self, topic: UUID, message: Message) -> None:
        kind = message.get("kind")
        if "revision" in message:
            for seat in list(self.members.get(topic, ())):
                seat.put_revision(int(message["revision"]), message.get("client"))
        elif kind == "cursor":
            event = LiveEvent("cursor", message["cursor"])
            self._send(topic, event, excluded_key=message.get("from"))
        elif kind == "comment":
            self._send(topic, LiveEvent("comment", message["comment"]))
        elif kind == "published":
            self._send(topic, LiveEvent("published", {"number": message["number"]}))
        elif kind == "card":
            self._update_cards(topic, message)
            await self._send_presence(topic)

    def _update_cards(self, draft: UUID, body: Message) -> None:
        """Store a card that a tab sent in that tab's seat, because the cards of all seats are announced again later."""
        for seat in self.members.get(draft, ()):
            if "card" in body and seat.key == body.get("from"):
                seat.card.update(body["card"])

    def _send(self, draft: UUID, event: LiveEvent, *, excluded_key: str | None = None) -> None:
        for seat in list(self.members.get(draft, ())):
            if seat.key != excluded_key:
                seat.put(event)

    async def _send_presence(self, draft: UUID, *, force: Seat | None = None) -> None:
        """Send the people on a draft to its tabs if they changed; a new tab gets them in any case."""
        cards = await self.board.read(draft)
        cards |= {seat.key: seat.card for seat in self.members.get(draft, ())}
        changed = cards != self._sent_cards.get(draft)
        if draft in self.members:
            self._sent_cards[draft] = {key: dict(card) for key, card in cards.items()}
        people: Json = [cards[key] for key in sorted(cards)]
        for seat in list(self.members.get(draft, ())):
            if changed or seat is force:
                seat.put(LiveEvent("presence", {"people": people}))

    async def poll(self) -> None:
        """Send each seat the news of the rows, end the seats that lost access, and renew the cards of the others."""
        seats = [seat for draft_seats in self.members.values() for seat in draft_seats]
        watches = {seat.watch for seat in seats}
        news = await run_in_thread(load_news, {seat.team_id for seat in seats}, watches)
        for seat in seats:
            if seat.watch in news.admitted:
                _send_news(seat, news)
            else:
                seat.end()
        for draft, draft_seats in list(self.members.items()):
            cards = {seat.key: seat.card for seat in draft_seats if not seat.cut_off}
            await self.board.put(draft, cards)
            await self._send_presence(draft)


def _send_news(seat: Seat, news: DraftNews) -> None:
    seat.put_revision(news.revisions.get(seat.workflow_id, 0), None)
    comment_mark = news.comments.get(seat.workflow_id, "")
    if seat.comments is not None and seat.comments != comment_mark:
        seat.put(LiveEvent("comment", {"mark": comment_mark}))
    seat.comments = comment_mark
    for run in news.runs:
        if run.workflow_id != seat.workflow_id or seat.user_id not in run.people:
            continue
        if seat.runs.get(run.id) != run.status:
            seat.runs[run.id] = run.status
            seat.put(LiveEvent("run", {"id": run.id, "status": run.status}))


async def follow(
    feed: DraftFeed, seat: Seat, *, idle_seconds: float
) -> AsyncIterator[LiveEvent | None]:
    """Yield a tab's events, and None after a while without any, until it loses access or can't keep up."""
    async with feed.take_seat(seat):
        while not seat.cut_off:
            try:
                # Not wait_for: in Python 3.11 it swallows a cancellation that arrives when the wait ends.
                async with asyncio.timeout(idle_seconds):
                    event = await seat.queue.get()
            except TimeoutError:
                yield None
                continue
            if event is None:
                return
            yield event


def get_draft_feed() -> DraftFeed:
    """Return the feed of the running event loop."""
    return get_hub().feed(DraftFeed)


def list_draft_feeds() -> list[DraftFeed]:
    """Return the feeds of every event loop in this process that has one."""
    return [feed for hub in list_hubs() if (feed := hub.find_feed(DraftFeed)) is not None]
