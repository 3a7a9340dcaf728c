"""The events of a draft for one tab, until the person leaves or loses access."""

import asyncio
from collections.abc import AsyncIterator

from workflows.live.draft_feed import DraftFeed
from workflows.live.seats import LiveEvent, Seat


async def follow(
    feed: DraftFeed, seat: Seat, *, idle_seconds: float
) -> AsyncIterator[LiveEvent | None]:
    """Yield events, and None after a while without any.

    It ends when access does, or when the tab can't keep up.
    """
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
