"""Sends the events of a run as Dify does: one line of JSON each, no names and no numbers, and a ping in between."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from functools import partial
from json import dumps
from typing import Final

from accounts.services.holders import build_holder
from accounts.tenancy import tenant
from config.http.event_streams import EventStream
from workflows.dify_api.calls import Call
from workflows.dify_api.streaming.graph import Graph
from workflows.dify_api.streaming.rows import StreamRows, needs_rows
from workflows.dify_api.streaming.translator import Event, Translator
from workflows.execution.events.reader import follow_in_batches
from workflows.execution.events.run_feed import get_run_feed
from workflows.execution.events.run_watches import RunWatch
from workflows.execution.events.stream_events import StreamEvent
from workflows.execution.threads import run_once_in_thread
from workflows.models.documents import read_document


PING_SECONDS: Final = 10.0
PING: Final = b"event: ping\n\n"


def build_stream(call: Call, *, after: int = 0, closes_on_pause: bool = True) -> EventStream:
    """Return the events of a run after the event ``after``. The caller has found the run, within a tenant."""
    graph = Graph.from_document(read_document(call.run.snapshot))
    translator = Translator(call, graph, StreamRows(call), closes_on_pause)
    return EventStream(_send(translator, after), reconnects=False)


async def _send(translator: Translator, after: int) -> AsyncIterator[bytes]:
    call = translator.call
    watch = RunWatch(call.run.team_id, call.run.pk, build_holder(call.principal, None))
    batches = follow_in_batches(
        get_run_feed(),
        call.run.team_id,
        call.run.pk,
        after,
        idle_seconds=PING_SECONDS,
        watch=watch,
    )
    async with aclosing(batches) as followed:  # type: ignore[type-var]  # an async generator
        async for events in followed:
            if not events:
                yield PING
                continue
            frames = _join(await _translate(translator, events))
            if frames:
                yield frames
            if translator.is_closed:
                return
    yield _join([translator.build_loss_error()])


async def _translate(translator: Translator, events: Sequence[StreamEvent]) -> list[Event]:
    if any(map(needs_rows, events)):
        return await run_once_in_thread(partial(_translate_with_rows, translator, events))
    return translator.translate(events)


def _translate_with_rows(translator: Translator, events: Sequence[StreamEvent]) -> list[Event]:
    with tenant([translator.call.run.team_id]):
        return translator.translate(events)


def _join(events: Sequence[Event]) -> bytes:
    return b"".join(
        f"data: {dumps(event, ensure_ascii=False, separators=(',', ':'), default=str)}\n\n".encode()
        for event in events
    )
