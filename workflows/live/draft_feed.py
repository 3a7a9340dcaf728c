"""The feed of the drafts that are open in a web process: it polls their rows once for all of their tabs.

The rows are authoritative and any message of the bus may be lost, so a poll every second or two repeats the state.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from django.db import Error as DatabaseError

from workflows.engine.language.document import Json
from workflows.execution.events.hub import Feed, Hub, Message, get_hub, list_hubs
from workflows.execution.threads import run_once_in_thread
from workflows.live.news import DraftNews, load_news
from workflows.live.presence import Card, PresenceStore, build_presence_store
from workflows.live.publish import PREFIX, DraftPublisher
from workflows.live.tabs import LiveEvent, Tab


class DraftFeed(Feed[Tab]):
    """Sends each tab the edits, comments and runs of its draft, and the people who have it open."""

    prefix = PREFIX
    poll_seconds_without_bus = 1.0
    temporary_errors = (DatabaseError, OSError)

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self.presence: PresenceStore = build_presence_store(hub.url)
        self._publisher = DraftPublisher(hub.url)
        self._sent_cards: dict[UUID, dict[str, Card]] = {}
        self._loop = asyncio.get_running_loop()

    @asynccontextmanager
    async def connect_tab(self, tab: Tab) -> AsyncIterator[Tab]:
        """Make the tab visible to the others, and send it their events, for the duration of the block."""
        draft = tab.workflow_id
        try:
            async with self.join(draft, tab):
                await self.presence.save(draft, {tab.key: tab.card})
                await self._send_presence(draft, force=tab)
                await self._publisher.publish(draft, {"kind": "card"})
                yield tab
        finally:
            await self.presence.remove(draft, tab.key)
            await self._send_presence(draft)
            await self._publisher.publish(draft, {"kind": "card"})

    async def close(self) -> None:
        await self._publisher.close()
        await self.presence.close()

    def forget(self, topic: UUID) -> None:
        self._sent_cards.pop(topic, None)

    def receive_from_thread(self, draft: UUID, message: Message) -> None:
        """Receive a message from a request of this process. It replaces the bus where there is none."""
        self._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(self.receive(draft, message)))

    async def receive(self, topic: UUID, message: Message) -> None:
        kind = message.get("kind")
        if "revision" in message:
            for tab in list(self.members.get(topic, ())):
                tab.put_revision(int(message["revision"]), message.get("client"))
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

    def _update_cards(self, draft: UUID, message: Message) -> None:
        """Store the changes of a card in its tab if it is connected here, because each poll renews the tab's card."""
        for tab in self.members.get(draft, ()):
            if "card" in message and tab.key == message.get("from"):
                tab.card.update(message["card"])

    def _send(self, draft: UUID, event: LiveEvent, *, excluded_key: str | None = None) -> None:
        for tab in list(self.members.get(draft, ())):
            if tab.key != excluded_key:
                tab.put(event)

    async def _send_presence(self, draft: UUID, *, force: Tab | None = None) -> None:
        """Send the people on a draft to its tabs if they changed. The tab ``force`` gets them in any case."""
        cards = await self.presence.read(draft)
        cards |= {tab.key: tab.card for tab in self.members.get(draft, ())}
        changed = cards != self._sent_cards.get(draft)
        if draft in self.members:
            self._sent_cards[draft] = {key: dict(card) for key, card in cards.items()}
        people: Json = [cards[key] for key in sorted(cards)]
        for tab in list(self.members.get(draft, ())):
            if changed or tab is force:
                tab.put(LiveEvent("presence", {"people": people}))

    async def poll(self) -> None:
        """Send each tab the news of its draft, end the tabs that lost access, and renew the cards of the others."""
        tabs = [tab for draft_tabs in self.members.values() for tab in draft_tabs]
        watches = {tab.watch for tab in tabs}
        news = await run_once_in_thread(load_news, {tab.team_id for tab in tabs}, watches)
        for tab in tabs:
            if tab.watch in news.admitted:
                _send_news(tab, news)
            else:
                tab.end()
        for draft, draft_tabs in list(self.members.items()):
            cards = {tab.key: tab.card for tab in draft_tabs if not tab.cut_off}
            await self.presence.save(draft, cards)
            await self._send_presence(draft)


def _send_news(tab: Tab, news: DraftNews) -> None:
    tab.put_revision(news.revisions.get(tab.workflow_id, 0), None)
    comment_mark = news.comments.get(tab.workflow_id, "")
    if tab.comments is not None and tab.comments != comment_mark:
        tab.put(LiveEvent("comment", {"mark": comment_mark}))
    tab.comments = comment_mark
    for run in news.runs:
        if run.workflow_id != tab.workflow_id or tab.user_id not in run.people:
            continue
        if tab.runs.get(run.id) != run.status:
            tab.runs[run.id] = run.status
            tab.put(LiveEvent("run", {"id": run.id, "status": run.status}))


async def follow(
    feed: DraftFeed, tab: Tab, *, idle_seconds: float
) -> AsyncIterator[LiveEvent | None]:
    """Yield a tab's events until it loses access or can't keep up, and None after ``idle_seconds`` without an event."""
    async with feed.connect_tab(tab):
        while not tab.cut_off:
            try:
                # Not wait_for: in Python 3.11 it swallows a cancellation that arrives when the wait ends.
                async with asyncio.timeout(idle_seconds):
                    event = await tab.queue.get()
            except TimeoutError:
                yield None
                continue
            if event is None:
                return
            yield event


def get_draft_feed() -> DraftFeed:
    """Return the feed of the running event loop."""
    return get_hub().get_feed(DraftFeed)


def list_draft_feeds() -> list[DraftFeed]:
    """Return the feeds of every event loop in this process that has one."""
    return [feed for hub in list_hubs() if (feed := hub.find_feed(DraftFeed)) is not None]
