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


@dataclass(slots=True)
class _Position:
    """The position up to which a reader has read."""

    seq: int
    attempt: int = 0
    text: int = 0  # UTF-16 units of the attempt's text


async def follow(
    feed: RunFeed, team_id: UUID, run_id: UUID, after: int, *, idle_seconds: float
) -> AsyncIterator[StreamEvent | None]:
    """Yield all events after the given one until the run has ended, and None after a while without any.

    A reader that can't keep up is cut off and continues from the rows, like any late reader.
    """
    position = _Position(after)
    while True:
        async with feed.reading(team_id, run_id) as reader:
            try:
                async for event in _follow(feed, reader, team_id, run_id, position, idle_seconds):
                    yield event
                return
            except TooSlow:
                continue


async def _follow(
    feed: RunFeed,
    reader: Reader,
    team_id: UUID,
    run_id: UUID,
    position: _Position,
    idle_seconds: float,
) -> AsyncIterator[StreamEvent | None]:
    message: Message = READ_ROWS
    while True:
        async for event in _read_after_message(feed, team_id, run_id, position, message):
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


async def _read_after_message(
    feed: RunFeed, team_id: UUID, run_id: UUID, position: _Position, message: Message
) -> AsyncIterator[StreamEvent | None]:
    """Yield the new events after a message, from the message or from the rows; None means that the run has ended."""
    gap = _find_gap(message, position)
    if gap == TEXT_MISSING:
        # Text is saved once a second; until then, every further piece would repeat the read.
        await asyncio.sleep(TEXT_DELAY)
    if gap:
        async for event in _read_rows(feed, team_id, run_id, position):
            yield event
    if message and not (gap and _find_gap(message, position)):
        for news in _read_message(message, position):
            yield news


def _find_gap(message: Message, position: _Position) -> str:
    """Return what is missing between the position and this message ("rows" or "text"), or ""."""
    if not message or message["attempt"] != position.attempt:
        return ROWS_MISSING
    seq, text = position.seq, position.text
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


def _read_message(message: Message, position: _Position) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    for item in message["items"]:
        if item[0] == "e":
            _, seq, name, data = item
            if seq > position.seq:
                position.seq = seq
                events.append(StreamEvent(name, data, seq))
        else:
            _, _after, offset, node, source, text = item
            events += _read_text(position, offset, node, source, text)
    return events


async def _read_rows(
    feed: RunFeed, team_id: UUID, run_id: UUID, position: _Position
) -> AsyncIterator[StreamEvent | None]:
    """Yield the rows after the position, with the saved text between them; None means that the run has ended."""
    while True:
        row = await feed.db.fetch_rows(READ_STATEMENT, (team_id, run_id, position.seq, PAGE_SIZE))
        events, attempt, rows, status, _last = row[0]
        if status is None:
            yield None
            return
        segments = deque(read_segments(rows or []))
        for event in _begin_attempt(attempt, segments, position):
            yield event
        for event in _interleave(events, segments, position):
            yield event
        if len(events) < PAGE_SIZE:
            if status in UNFINISHED:
                for event in _take_segments(segments, None, position):
                    yield event
            elif not events:
                yield None
            return


def _begin_attempt(
    attempt: int, segments: deque[Segment], position: _Position
) -> list[StreamEvent]:
    """Return the events that make a reader drop the superseded text of an earlier attempt."""
    if attempt == position.attempt:
        return []
    returning, superseded = position.attempt == 0 and position.seq > 0, position.text > 0
    position.attempt, position.text = attempt, 0
    if returning:
        _skip_seen(segments, position)
    return [_build_chunk(position, 0, "", None, "")] if superseded else []


def _interleave(
    events: list[Json], segments: deque[Segment], position: _Position
) -> list[StreamEvent]:
    result: list[StreamEvent] = []
    for seq, name, data in events:
        result += _take_segments(segments, seq, position)
        if seq > position.seq:
            position.seq = seq
            result.append(StreamEvent(name, data, seq))
    return result


def _skip_seen(segments: deque[Segment], position: _Position) -> None:
    """Skip text that was complete before the last event of a returning reader, who has that text too."""
    while segments and segments[0].grew_after < position.seq:
        segment = segments.popleft()
        position.text = segment.offset + segment.length


def _take_segments(
    segments: deque[Segment], seq: int | None, position: _Position
) -> list[StreamEvent]:
    """Return the text of segments that began before this event; None means all segments."""
    result: list[StreamEvent] = []
    while segments and (seq is None or segments[0].began_after < seq):
        segment = segments.popleft()
        result += _read_text(position, segment.offset, segment.node, segment.source, segment.text)
    return result


def _read_text(
    position: _Position, offset: int, node: str, source: str | None, text: str
) -> list[StreamEvent]:
    """Return the part of a text that the reader doesn't have."""
    end = offset + count_units(text)
    if end <= position.text:
        return []
    if offset < position.text:
        text, offset = cut_before(text, position.text - offset), position.text
    position.text = end
    return [_build_chunk(position, offset, node, source, text)]


def _build_chunk(
    position: _Position, offset: int, node: str, source: str | None, text: str
) -> StreamEvent:
    """Build a chunk to place at ``offset``, replacing later text: a new attempt begins again at 0."""
    data = {
        "node": node,
        "source": source,
        "text": text,
        "offset": offset,
        "attempt": position.attempt,
    }
    return StreamEvent(TEXT_CHUNK, data)
