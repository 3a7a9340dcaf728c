"""Read the event stream of a run: each event and each piece of text once and in order, from the bus or the rows."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from uuid import UUID

from workflows.execution.events.backlog import PAGE_SIZE, Position
from workflows.execution.events.hub import Message
from workflows.execution.events.run_feed import (
    READ_ROWS,
    UNFINISHED,
    AccessLost,
    Reader,
    RunFeed,
    TooSlow,
)
from workflows.execution.events.run_watches import RunWatch
from workflows.execution.events.stream_events import StreamEvent
from workflows.execution.journal.partials import Segment, count_units, cut_before, read_segments


TEXT_DELAY = 0.25
# A message's items are ["e", seq, event] and ["t", after, offset, node, source, text], see ``journal.outbox`` and
# ``stream_events``. The item of a large event has only the first two parts.
COMPLETE_ITEM = 3

ROWS_MISSING, TEXT_MISSING = "rows", "text"
RUN_FINISHED = "run_finished"
TEXT_CHUNK = "text_chunk"


async def follow(
    feed: RunFeed, team_id: UUID, run_id: UUID, after: int, *, idle_seconds: float
) -> AsyncIterator[StreamEvent | None]:
    """Yield all events after the event number ``after`` until the run ends, and None after ``idle_seconds`` without one."""
    async for events in follow_in_batches(feed, team_id, run_id, after, idle_seconds=idle_seconds):
        for event in events:
            yield event
        if not events:
            yield None


async def follow_in_batches(
    feed: RunFeed,
    team_id: UUID,
    run_id: UUID,
    after: int,
    *,
    idle_seconds: float,
    watch: RunWatch | None = None,
) -> AsyncIterator[list[StreamEvent]]:
    """Yield the events like ``follow``, but those together that are there together; an empty list instead of None.

    A reader that can't keep up continues from the rows. One with a ``watch`` ends when that may not see the run any more.
    """
    follower = _Follower(feed, team_id, run_id, after)
    while True:
        async with feed.open_reader(team_id, run_id, watch) as reader:
            try:
                async with aclosing(follower.follow(reader, idle_seconds)) as batches:
                    async for events in batches:
                        yield events
                return
            except TooSlow:
                continue
            except AccessLost:
                return


@dataclass(slots=True)
class _Follower:
    """One reader of a run, and the position up to which it has read."""

    feed: RunFeed
    team_id: UUID
    run_id: UUID
    seq: int
    attempt: int = 0
    text_length: int = 0  # UTF-16 units of the attempt's text that were read
    has_ended: bool = False

    async def follow(
        self, reader: Reader, idle_seconds: float
    ) -> AsyncGenerator[list[StreamEvent], None]:
        message: Message = READ_ROWS
        while True:
            async with aclosing(self._read_after_message(message)) as batches:
                async for events in batches:
                    if events:
                        yield events
                    if self.has_ended:
                        return
            try:
                # Not wait_for: in Python 3.11 it swallows a cancellation that arrives when the wait ends.
                async with asyncio.timeout(idle_seconds):
                    message = await reader.get()
            except TimeoutError:
                yield []
                message = READ_ROWS

    async def _read_after_message(
        self, message: Message
    ) -> AsyncGenerator[list[StreamEvent], None]:
        """Yield the events that a message announces, from the message or the rows."""
        gap = self._find_gap(message)
        if gap == TEXT_MISSING:
            # Text is saved once a second, so reading the rows again at once would find nothing new.
            await asyncio.sleep(TEXT_DELAY)
        if gap:
            async with aclosing(self._read_rows()) as pages:
                async for events in pages:
                    yield events
        if message and not (gap and self._find_gap(message)):
            yield self._read_message(message)

    def _find_gap(self, message: Message) -> str:
        """Return what is missing between the reader's position and this message: ROWS_MISSING, TEXT_MISSING or ""."""
        if not message or message["attempt"] != self.attempt:
            return ROWS_MISSING
        seq, text_length = self.seq, self.text_length
        for item in message["items"]:
            if item[0] == "e":
                if item[1] > seq + 1 or (item[1] > seq and len(item) < COMPLETE_ITEM):
                    return ROWS_MISSING
                seq = max(seq, item[1])
            else:
                if item[1] > seq:
                    return ROWS_MISSING
                if item[2] > text_length:
                    return TEXT_MISSING
                text_length = max(text_length, item[2] + count_units(item[5]))
        return ""

    def _read_message(self, message: Message) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for item in message["items"]:
            if item[0] == "e":
                events += self._read_event(item[2]) if len(item) == COMPLETE_ITEM else []
            else:
                events += self._read_text(*item[2:])
        return events

    async def _read_rows(self) -> AsyncGenerator[list[StreamEvent], None]:
        """Yield the stored events after the position and the saved text between them, page by page."""
        while True:
            position = Position(self.team_id, self.run_id, self.seq)
            events, attempt, saved_text, status, _last_seq = await self.feed.backlog.read(position)
            if status is None:
                self.has_ended = True
                return
            segments = deque(read_segments(saved_text or []))
            page = self._begin_attempt(attempt, segments) + self._interleave(events, segments)
            is_last = len(events) < PAGE_SIZE
            if is_last and status in UNFINISHED:
                page += self._take_segments(segments, None)
            elif is_last and not events:
                self.has_ended = True
            yield page
            if is_last:
                return

    def _begin_attempt(self, attempt: int, segments: deque[Segment]) -> list[StreamEvent]:
        """Set the attempt. Return an event that deletes the text of an earlier attempt if the reader has any."""
        if attempt == self.attempt:
            return []
        is_returning, has_old_text = self.attempt == 0 and self.seq > 0, self.text_length > 0
        self.attempt, self.text_length = attempt, 0
        if is_returning:
            # The reader has the text that was complete before the last event it received.
            while segments and segments[0].grew_after < self.seq:
                segment = segments.popleft()
                self.text_length = segment.offset + segment.length
        return [self._build_chunk(0, "", None, "")] if has_old_text else []

    def _interleave(self, events: list[StreamEvent], segments: deque[Segment]) -> list[StreamEvent]:
        result: list[StreamEvent] = []
        for event in events:
            result += self._take_segments(segments, event.seq)
            result += self._read_event(event)
        return result

    def _take_segments(self, segments: deque[Segment], seq: int | None) -> list[StreamEvent]:
        """Return the text of segments that began before this event; None means all segments."""
        events: list[StreamEvent] = []
        while segments and (seq is None or segments[0].began_after < seq):
            segment = segments.popleft()
            events += self._read_text(segment.offset, segment.node, segment.source, segment.text)
        return events

    def _read_event(self, event: StreamEvent) -> list[StreamEvent]:
        """Return the event, unless the reader has it."""
        if event.seq is None or event.seq <= self.seq or self.has_ended:
            return []
        self.seq, self.has_ended = event.seq, event.name == RUN_FINISHED
        return [event]

    def _read_text(
        self, offset: int, node: str, source: str | None, text: str
    ) -> list[StreamEvent]:
        """Return the part of a text that the reader doesn't have."""
        end = offset + count_units(text)
        if end <= self.text_length:
            return []
        if offset < self.text_length:
            text, offset = cut_before(text, self.text_length - offset), self.text_length
        self.text_length = end
        return [self._build_chunk(offset, node, source, text)]

    def _build_chunk(self, offset: int, node: str, source: str | None, text: str) -> StreamEvent:
        """Return a chunk that replaces the reader's text from ``offset`` on; a new attempt begins again at 0."""
        fields = {"node": node, "source": source, "text": text, "offset": offset}
        return StreamEvent(TEXT_CHUNK, {**fields, "attempt": self.attempt})
