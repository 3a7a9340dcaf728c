"""Messages for the bus in the order of events, with text at its position between them.

Text waits up to 25 ms for more text; an event is sent 20 ms after its commit, together with what else was committed
meanwhile and the text before it: a publish costs the loop as much as a commit.
"""

import asyncio
from dataclasses import dataclass, field
from uuid import UUID

from workflows.execution.events.bus import Publisher, get_channel
from workflows.execution.journal.codec import dump


TEXT_DELAY = 0.025
EVENTS_DELAY = 0.02
MAX_EVENT_CHARACTERS = 48_000  # a larger event is announced and read from its row


@dataclass(slots=True)
class Lane:
    """The outgoing items of a run. ``text`` holds (after, offset, node, source, pieces)."""

    attempt: int
    committed: int  # number of the last event whose commit is known
    text: list[tuple[int, int, str, str | None, list[str]]] = field(default_factory=list)
    items: list[str] = field(default_factory=list)

    def add_text(self, after: int, offset: int, node: str, source: str | None, text: str) -> None:
        last = self.text[-1] if self.text else None
        if last is not None and last[0] == after and last[2] == node and last[3] == source:
            last[4].append(text)
        else:
            self.text.append((after, offset, node, source, [text]))

    def commit(self, seq: int, name: str, data: str) -> None:
        """Add a numbered event after the text that precedes it."""
        self.release(seq)
        self.committed = seq
        if len(data) > MAX_EVENT_CHARACTERS:
            self.items.append(f'["e",{seq}]')
        else:
            self.items.append(f'["e",{seq},"{name}",{data}]')

    def release(self, before: int | None = None) -> None:
        """Move text to the items: text ``before`` an event, or all text that follows no uncommitted event."""
        limit = self.committed + 1 if before is None else before
        keep: list[tuple[int, int, str, str | None, list[str]]] = []
        for entry in self.text:
            if entry[0] >= limit:
                keep.append(entry)
                continue
            after, offset, node, source, pieces = entry
            self.items.append(dump(["t", after, offset, node, source, "".join(pieces)]))
        self.text = keep


class Outbox:
    """The outgoing messages of one worker. All messages that are due leave in one round trip."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._lanes: dict[UUID, Lane] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._ready: list[tuple[str, str]] = []  # including those of closed lanes

    def open(self, run_id: UUID, attempt: int, committed: int) -> Lane:
        lane = self._lanes[run_id] = Lane(attempt, committed)
        return lane

    def close(self, run_id: UUID, lane: Lane) -> None:
        if self._lanes.get(run_id) is lane:
            self._gather(run_id, lane)
            del self._lanes[run_id]
            self.schedule(0)

    async def drain(self) -> None:
        self._send()
        if self._sending is not None:
            await self._sending

    def _gather(self, run_id: UUID, lane: Lane) -> None:
        lane.release()
        if lane.items:
            body = f'{{"attempt":{lane.attempt},"items":[{",".join(lane.items)}]}}'
            self._ready.append((get_channel(run_id), body))
            lane.items = []

    def schedule(self, delay: float) -> None:
        """Send after the delay in seconds, or sooner if that is scheduled."""
        loop = asyncio.get_running_loop()
        when = loop.time() + delay
        if self._timer is not None and not self._timer.cancelled():
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = loop.call_at(when, self._send)

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._sending is not None and not self._sending.done():
            self.schedule(TEXT_DELAY)  # one publish at a time, which keeps the order
            return
        for run_id, lane in self._lanes.items():
            self._gather(run_id, lane)
        if self._ready:
            messages, self._ready = self._ready, []
            self._sending = asyncio.create_task(self._publisher.publish(messages))
