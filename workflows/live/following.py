"""One draft as one tab hears of it, until the person leaves or may not be there any more."""

import asyncio
from collections.abc import AsyncIterator

from workflows.live.hub import LiveHub
from workflows.live.seats import Said, Seat


async def follow(hub: LiveHub, seat: Seat, *, patience: float) -> AsyncIterator[Said | None]:
    """None: nothing happened for a while. Ends when access does, or when the tab can't keep up."""
    async with hub.sitting(seat):
        while not seat.cut_off:
            try:
                # Not wait_for: Python 3.11's swallows a cancel that comes as the wait is over.
                async with asyncio.timeout(patience):
                    said = await seat.queue.get()
            except TimeoutError:
                yield None
                continue
            if said is None:
                return
            yield said
