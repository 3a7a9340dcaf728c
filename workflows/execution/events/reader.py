"""One run as one reader sees it: rows in order, text where it belongs, each exactly once."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

from workflows.engine.language.document import Json
from workflows.execution.events.hub import Message
from workflows.execution.events.run_feed import READ_ROWS, UNFINISHED, Reader, RunFeed, TooSlow
from workflows.execution.journal.partials import Segment, count_units, cut_before, read_segments


READ = "select events, attempt, segments, status, last_seq from execution_read(%s, %s, %s, %s)"
PAGE = 500  # events a read

TEXT_LAGS = 0.25
COMPLETE_ITEM = 4  # parts of an event's item; one that was too large to send has fewer

ROWS_MISSING, TEXT_MISSING = "rows", "text"
RUN_FINISHED = "run_finished"
TEXT_CHUNK = "text_chunk"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event of the stream; text has no number of its own."""

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
    feed: RunFeed, team_id: UUID, run_id: UUID, after: int, *, patience: float
) -> AsyncIterator[StreamEvent | None]:
    """Yield everything after an event until the run has ended, and None when nothing happened for a while.

    A reader that can't keep up is cut off and continues from the rows, as any late one does.
    """
    place = _Position(after)
    while True:
        async with feed.reading(team_id, run_id) as reader:
            try:
                async for event in _follow(feed, reader, team_id, run_id, place, patience):
                    yield event
                return
            except TooSlow:
                continue


async def _follow(
    feed: RunFeed, reader: Reader, team_id: UUID, run_id: UUID, place: _Position, patience: float
) -> AsyncIterator[StreamEvent | None]:
    message: Message = READ_ROWS
    while True:
        async for event in _read_after_message(feed, team_id, run_id, place, message):
            if event is None:
                return
            yield event
            if event.name == RUN_FINISHED:
                return
        try:
            message = await asyncio.wait_for(reader.get(), timeout=patience)
        except TimeoutError:
            yield None
            message = READ_ROWS


async def _read_after_message(
    feed: RunFeed, team_id: UUID, run_id: UUID, place: _Position, message: Message
) -> AsyncIterator[StreamEvent | None]:
    """Yield the news after a message, from itself or from the rows; None means that the run ended before."""
    gap = _find_gap(message, place)
    if gap == TEXT_MISSING:
        # It is saved once a second; until then every further piece would ask again.
        await asyncio.sleep(TEXT_LAGS)
    if gap:
        async for event in _read_rows(feed, team_id, run_id, place):
            yield event
    if message and not (gap and _find_gap(message, place)):
        for news in _read_message(message, place):
            yield news


def _find_gap(message: Message, place: _Position) -> str:
    """Return what is missing between the position and this message, or is only in the rows; "" if nothing is."""
    if not message or message["attempt"] != place.attempt:
        return ROWS_MISSING
    seq, text = place.seq, place.text
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


def _read_message(message: Message, place: _Position) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    for item in message["items"]:
        if item[0] == "e":
            _, seq, name, data = item
            if seq > place.seq:
                place.seq = seq
                events.append(StreamEvent(name, data, seq))
        else:
            _, _after, offset, node, source, text = item
            events += _read_text(place, offset, node, source, text)
    return events


async def _read_rows(
    feed: RunFeed, team_id: UUID, run_id: UUID, place: _Position
) -> AsyncIterator[StreamEvent | None]:
    """Rows after the last one seen, and the saved text between them where it stood. None: the end."""
    while True:
        row = await feed.db.fetch_rows(READ, (team_id, run_id, place.seq, PAGE))
        events, attempt, rows, status, _last = row[0]
        if status is None:
            yield None
            return
        segments = deque(read_segments(rows or []))
        for event in _begin_attempt(attempt, segments, place):
            yield event
        for event in _interleave(events, segments, place):
            yield event
        if len(events) < PAGE:
            if status in UNFINISHED:
                for event in _take_segments(segments, None, place):
                    yield event
            elif not events:
                yield None
            return


def _begin_attempt(attempt: int, segments: deque[Segment], place: _Position) -> list[StreamEvent]:
    """Text of an earlier attempt is superseded; who has some of it is told to drop it."""
    if attempt == place.attempt:
        return []
    returning, superseded = place.attempt == 0 and place.seq > 0, place.text > 0
    place.attempt, place.text = attempt, 0
    if returning:
        _skip_seen(segments, place)
    return [_chunk(place, 0, "", None, "")] if superseded else []


def _interleave(
    events: list[Json], segments: deque[Segment], place: _Position
) -> list[StreamEvent]:
    result: list[StreamEvent] = []
    for seq, name, data in events:
        result += _take_segments(segments, seq, place)
        if seq > place.seq:
            place.seq = seq
            result.append(StreamEvent(name, data, seq))
    return result


def _skip_seen(segments: deque[Segment], place: _Position) -> None:
    """Text that was whole before the last event a returning reader has: it has that text too."""
    while segments and segments[0].grew_after < place.seq:
        gone = segments.popleft()
        place.text = gone.offset + gone.length


def _take_segments(
    segments: deque[Segment], seq: int | None, place: _Position
) -> list[StreamEvent]:
    """Segments that began before this event; None: all of them."""
    result: list[StreamEvent] = []
    while segments and (seq is None or segments[0].began_after < seq):
        segment = segments.popleft()
        result += _read_text(place, segment.offset, segment.node, segment.source, segment.text)
    return result


def _read_text(
    place: _Position, offset: int, node: str, source: str | None, text: str
) -> list[StreamEvent]:
    """The part of it that wasn't told yet."""
    end = offset + count_units(text)
    if end <= place.text:
        return []
    if offset < place.text:
        text, offset = cut_before(text, place.text - offset), place.text
    place.text = end
    return [_chunk(place, offset, node, source, text)]


def _chunk(place: _Position, offset: int, node: str, source: str | None, text: str) -> StreamEvent:
    """Put at ``offset``, replacing what is there: a new attempt begins again at 0."""
    data = {
        "node": node,
        "source": source,
        "text": text,
        "offset": offset,
        "attempt": place.attempt,
    }
    return StreamEvent(TEXT_CHUNK, data)
