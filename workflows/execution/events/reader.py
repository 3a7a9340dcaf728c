"""One run as one reader sees it: rows in order, text where it belongs, each once."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

from workflows.engine.document import Json
from workflows.execution.hub import LOOK, UNFINISHED, Hub, Message, Reader, TooSlow
from workflows.execution.partials import Segment, read_segments, tail_of, units


READ = "select events, attempt, segments, status, last_seq from execution_read(%s, %s, %s, %s)"
PAGE = 500  # events a read

TEXT_LAGS = 0.25
WHOLE = 4  # parts of an event's item; one that was too large to send has fewer

ROWS_MISSING, TEXT_MISSING = "rows", "text"
RUN_FINISHED = "run_finished"
TEXT_CHUNK = "text_chunk"


@dataclass(frozen=True, slots=True)
class Said:
    """An event of the stream; text has no number of its own."""

    name: str
    data: Json
    seq: int | None = None


@dataclass(slots=True)
class _Place:
    """How far a reader has come."""

    seq: int
    attempt: int = 0
    text: int = 0  # UTF-16 units of the attempt's text


async def follow(
    hub: Hub, team_id: UUID, run_id: UUID, after: int, *, patience: float
) -> AsyncIterator[Said | None]:
    """Everything after an event, until the run has ended. None: nothing happened for a while.

    A reader that can't keep up is cut off and goes on from the rows, as any late one does.
    """
    place = _Place(after)
    while True:
        async with hub.reading(team_id, run_id) as reader:
            try:
                async for said in _follow(hub, reader, team_id, run_id, place, patience):
                    yield said
                return
            except TooSlow:
                continue


async def _follow(
    hub: Hub, reader: Reader, team_id: UUID, run_id: UUID, place: _Place, patience: float
) -> AsyncIterator[Said | None]:
    message: Message = LOOK
    while True:
        async for said in _after_message(hub, team_id, run_id, place, message):
            if said is None:
                return
            yield said
            if said.name == RUN_FINISHED:
                return
        try:
            message = await asyncio.wait_for(reader.get(), timeout=patience)
        except TimeoutError:
            yield None
            message = LOOK


async def _after_message(
    hub: Hub, team_id: UUID, run_id: UUID, place: _Place, message: Message
) -> AsyncIterator[Said | None]:
    """What is new after a message, from itself or from the rows. None: the run has ended before."""
    gap = _gap(message, place)
    if gap == TEXT_MISSING:
        # It is saved once a second; until then every further piece would ask again.
        await asyncio.sleep(TEXT_LAGS)
    if gap:
        async for said in _from_rows(hub, team_id, run_id, place):
            yield said
    if message and not (gap and _gap(message, place)):
        for told in _from_message(message, place):
            yield told


def _gap(message: Message, place: _Place) -> str:
    """What is missing between what was seen and this, or is only in the rows; "" for nothing."""
    if not message or message["attempt"] != place.attempt:
        return ROWS_MISSING
    seq, text = place.seq, place.text
    for item in message["items"]:
        if item[0] == "e":
            if item[1] > seq + 1 or (item[1] > seq and len(item) < WHOLE):
                return ROWS_MISSING
            seq = max(seq, item[1])
        else:
            if item[1] > seq:
                return ROWS_MISSING
            if item[2] > text:
                return TEXT_MISSING
            text = max(text, item[2] + units(item[5]))
    return ""


def _from_message(message: Message, place: _Place) -> list[Said]:
    told: list[Said] = []
    for item in message["items"]:
        if item[0] == "e":
            _, seq, name, data = item
            if seq > place.seq:
                place.seq = seq
                told.append(Said(name, data, seq))
        else:
            _, _after, offset, node, source, text = item
            told += _text(place, offset, node, source, text)
    return told


async def _from_rows(
    hub: Hub, team_id: UUID, run_id: UUID, place: _Place
) -> AsyncIterator[Said | None]:
    """Rows after the last one seen, and the saved text between them where it stood. None: the end."""
    while True:
        found = await hub.db.rows(READ, (team_id, run_id, place.seq, PAGE))
        events, attempt, rows, status, _last = found[0]
        if status is None:
            yield None
            return
        segments = deque(read_segments(rows or []))
        for said in _new_attempt(attempt, segments, place):
            yield said
        for said in _interleaved(events, segments, place):
            yield said
        if len(events) < PAGE:
            if status in UNFINISHED:
                for said in _segments_before(segments, None, place):
                    yield said
            elif not events:
                yield None
            return


def _new_attempt(attempt: int, segments: deque[Segment], place: _Place) -> list[Said]:
    """Text of an earlier attempt is superseded; who has some of it is told to drop it."""
    if attempt == place.attempt:
        return []
    returning, superseded = place.attempt == 0 and place.seq > 0, place.text > 0
    place.attempt, place.text = attempt, 0
    if returning:
        _skip_seen(segments, place)
    return [_chunk(place, 0, "", None, "")] if superseded else []


def _interleaved(events: list[Json], segments: deque[Segment], place: _Place) -> list[Said]:
    told: list[Said] = []
    for seq, name, data in events:
        told += _segments_before(segments, seq, place)
        if seq > place.seq:
            place.seq = seq
            told.append(Said(name, data, seq))
    return told


def _skip_seen(segments: deque[Segment], place: _Place) -> None:
    """Text that was whole before the last event a returning reader has: it has that text too."""
    while segments and segments[0].grew_after < place.seq:
        gone = segments.popleft()
        place.text = gone.offset + gone.length


def _segments_before(segments: deque[Segment], seq: int | None, place: _Place) -> list[Said]:
    """Segments that began before this event; None: all of them."""
    told: list[Said] = []
    while segments and (seq is None or segments[0].began_after < seq):
        segment = segments.popleft()
        told += _text(place, segment.offset, segment.node, segment.source, segment.text)
    return told


def _text(place: _Place, offset: int, node: str, source: str | None, text: str) -> list[Said]:
    """The part of it that wasn't told yet."""
    end = offset + units(text)
    if end <= place.text:
        return []
    if offset < place.text:
        text, offset = tail_of(text, place.text - offset), place.text
    place.text = end
    return [_chunk(place, offset, node, source, text)]


def _chunk(place: _Place, offset: int, node: str, source: str | None, text: str) -> Said:
    """Put at ``offset``, replacing what is there: a new attempt begins again at 0."""
    data = {
        "node": node,
        "source": source,
        "text": text,
        "offset": offset,
        "attempt": place.attempt,
    }
    return Said(TEXT_CHUNK, data)
