"""The events of a run for one reader: rows in order, text at its position, each exactly once."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

from workflows.engine.language.document import Json
from workflows.execution.events.hub import Message
from workflows.execution.events.run_feed import READ_ROWS, UNFINISHED, Reader, RunFeed, TooSlow
from workflows.execution.journal.partials import Segment, count_units, cut_before, read_segments


READ_STATEMENT = (
    "select events, attempt, segments, status, last_seq from execution_read(%s, %s, %s, %s)"
)
PAGE_SIZE = 500  # events in one read

TEXT_DELAY = 0.25
COMPLETE_ITEM = 4  # the parts of a complete event's item; a truncated item has fewer

ROWS_MISSING, TEXT_MISSING = "rows", "text"
RUN_FINISHED = "run_finished"
TEXT_CHUNK = "text_chunk"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event of the stream; text has no sequence number."""

    name: str
    data: Json
    seq: int | None = None


async def follow(
    feed: RunFeed, team_id: UUID, run_id: UUID, after: int, *, idle_seconds: float
) -> AsyncIterator[StreamEvent | None]:
    """Yield all events after the given one until the run has ended, and None after a while without any.

    A reader that can't keep up is cut off and continues from the rows, like any late reader.
    """
    follower = _Follower(feed, team_id, run_id, after)
    while True:
        async with feed.reading(team_id, run_id) as reader:
            try:
                async for event in follower.follow(reader, idle_seconds):
                    yield event
                return
            except TooSlow:
                continue


@dataclass(slots=True)
class _Follower:
    """One reader of a run, and the position up to which it has read."""

    feed: RunFeed
    team_id: UUID
    run_id: UUID
    seq: int
    attempt: int = 0
    text: int = 0  # UTF-16 units of the attempt's text

    async def follow(
        self, reader: Reader, idle_seconds: float
    ) -> AsyncIterator[StreamEvent | None]:
        message: Message = READ_ROWS
        while True:
            async for event in self._read_after_message(message):
                if event is None:
                    return
                yield event
                if event.name == RUN_FINISHED:
                    return
            try:
                message = await asyncio.wait_for(reader.get(), timeout=idle_seconds)
            except TimeoutError:
                yield None
                message = READ_ROWS

    async def _read_after_message(self, message: Message) -> AsyncIterator[StreamEvent | None]:
        """Yield the new events after a message, from it or from the rows; None means that the run has ended."""
        gap = self._find_gap(message)
        if gap == TEXT_MISSING:
            # Text is saved once a second; until then, every further piece would repeat the read.
            await asyncio.sleep(TEXT_DELAY)
        if gap:
            async for event in self._read_rows():
                yield event
        if message and not (gap and self._find_gap(message)):
            for news in self._read_message(message):
                yield news

    def _find_gap(self, message: Message) -> str:
        """Return what is missing between the position and this message ("rows" or "text"), or ""."""
        if not message or message["attempt"] != self.attempt:
            return ROWS_MISSING
        seq, text = self.seq, self.text
        for item in message["items"]:
            if item[0] == "e":
                if item[1] > seq + 1 or (item[1] > seq and len(item) < COMPLETE_ITEM):
                    return ROWS_MISSING
                seq = max(seq, item[1])
            else:
                if item[1] > seq:
                    return ROWS_MISSING
                if item[2] > text:
                    return TEXT_MISSING
                text = max(text, item[2] + count_units(item[5]))
        return ""

    def _read_message(self, message: Message) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for item in message["items"]:
            if item[0] == "e":
                events += self._read_event(*item[1:])
            else:
                events += self._read_text(*item[2:])
        return events

    async def _read_rows(self) -> AsyncIterator[StreamEvent | None]:
        """Yield the rows after the position, with the saved text between them; None means that the run has ended."""
        while True:
            values = (self.team_id, self.run_id, self.seq, PAGE_SIZE)
            row = await self.feed.db.fetch_rows(READ_STATEMENT, values)
            events, attempt, rows, status, _last = row[0]
            if status is None:
                yield None
                return
            segments = deque(read_segments(rows or []))
            for event in self._begin_attempt(attempt, segments):
                yield event
            for event in self._interleave(events, segments):
                yield event
            if len(events) < PAGE_SIZE:
                if status in UNFINISHED:
                    for event in self._take_segments(segments, None):
                        yield event
                elif not events:
                    yield None
                return

    def _begin_attempt(self, attempt: int, segments: deque[Segment]) -> list[StreamEvent]:
        """Return the events that make a reader drop the superseded text of an earlier attempt."""
        if attempt == self.attempt:
            return []
        returning, superseded = self.attempt == 0 and self.seq > 0, self.text > 0
        self.attempt, self.text = attempt, 0
        if returning:
            # Text that was complete before the last event of a returning reader was read with it.
            while segments and segments[0].grew_after < self.seq:
                segment = segments.popleft()
                self.text = segment.offset + segment.length
        return [self._build_chunk(0, "", None, "")] if superseded else []

    def _interleave(self, events: list[Json], segments: deque[Segment]) -> list[StreamEvent]:
        result: list[StreamEvent] = []
        for seq, name, data in events:
            result += self._take_segments(segments, seq)
            result += self._read_event(seq, name, data)
        return result

    def _take_segments(self, segments: deque[Segment], seq: int | None) -> list[StreamEvent]:
        """Return the text of segments that began before this event; None means all segments."""
        events: list[StreamEvent] = []
        while segments and (seq is None or segments[0].began_after < seq):
            segment = segments.popleft()
            events += self._read_text(segment.offset, segment.node, segment.source, segment.text)
        return events

    def _read_event(self, seq: int, name: str = "", data: Json = None) -> list[StreamEvent]:
        """Return the event unless the reader has it, as it has a truncated one, which was read from its row."""
        if seq <= self.seq:
            return []
        self.seq = seq
        return [StreamEvent(name, data, seq)]

    def _read_text(
        self, offset: int, node: str, source: str | None, text: str
    ) -> list[StreamEvent]:
        """Return the part of a text that the reader doesn't have."""
        end = offset + count_units(text)
        if end <= self.text:
            return []
        if offset < self.text:
            text, offset = cut_before(text, self.text - offset), self.text
        self.text = end
        return [self._build_chunk(offset, node, source, text)]

    def _build_chunk(self, offset: int, node: str, source: str | None, text: str) -> StreamEvent:
        """Build a chunk to place at ``offset``, replacing later text: a new attempt begins again at 0."""
        fields = {"node": node, "source": source, "text": text, "offset": offset}
        return StreamEvent(TEXT_CHUNK, {**fields, "attempt": self.attempt})
