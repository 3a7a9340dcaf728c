"""Stream a run's events as server-sent events. ``id:`` is the event's number, after which Last-Event-ID resumes.

Access is checked before the stream begins. The stream itself needs no thread and no database connection of the request,
only a subscription in the process's hub.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from accounts.http.credentials import authenticate_requests
from accounts.http.language import find_language
from accounts.principals import Principal
from accounts.services.holders import build_holder
from config.http.event_streams import PING_FRAME, EventStream, OpenedStream, StreamRequest
from workflows.execution.events.reader import follow_in_batches
from workflows.execution.events.run_feed import get_run_feed
from workflows.execution.events.run_watches import RunWatch
from workflows.execution.events.stream_events import StreamEvent
from workflows.execution.threads import run_once_in_thread
from workflows.models import Run
from workflows.selectors import find_runs
from workflows.services.runs.citations import StreamedCitations
from workflows.services.runs.run_access import StreamAccess, watch_stream


Translate = Callable[[StreamEvent], StreamEvent]
TranslateInto = Callable[[str, StreamEvent], StreamEvent]  # into the language of this code
# Counts requests. It returns the headers of each that may be answered, and None for one that it may have to refuse.
Throttle = Callable[[Sequence[HttpRequest]], Sequence[Mapping[str, str] | None]]

PING_SECONDS = 15.0  # between pings; proxies close connections that are idle for longer
PART_SIZE = 32_768  # bytes


def build_response(
    request: HttpRequest,
    principal: Principal,
    run: Run,
    translate: Translate | None = None,
    *,
    with_metadata: bool = False,
) -> HttpResponseBase:
    """Return the stream of a run that the caller has found for this principal.

    With metadata, its last event has the citations of the answer.
    """
    after = read_last_event_id(request)
    if _has_nothing_left(run, after):
        return HttpResponse(status=204)  # stops a browser from reconnecting
    return EventStream(_stream_run(request, principal, run, after, translate, with_metadata))


def open_run_streams(
    requests: Sequence[StreamRequest],
    translate: TranslateInto | None = None,
    throttle: Throttle | None = None,
    *,
    with_metadata: bool = False,
) -> list[OpenedStream | None]:
    """Open the streams of runs together. It decides as ``build_response`` behind ``selectors.find_run`` does."""
    principals = authenticate_requests([each.request for each in requests])
    # The API's own converter leaves the id a text.
    asked = [
        (principal, UUID(str(each.arguments["run_id"])))
        for principal, each in zip(principals, requests, strict=True)
    ]
    ready = {
        each: (principal, run)
        for each, principal, run in zip(requests, principals, find_runs(asked), strict=True)
        if principal and run and not _has_nothing_left(run, read_last_event_id(each.request))
    }
    counted = throttle([each.request for each in ready]) if throttle else [{} for _ in ready]
    headers = dict(zip(ready, counted, strict=True))
    return [
        _open_run_stream(each.request, *ready[each], translate, own_headers, with_metadata)
        if (own_headers := headers.get(each)) is not None
        else None
        for each in requests
    ]


def _open_run_stream(
    request: HttpRequest,
    principal: Principal,
    run: Run,
    translate: TranslateInto | None,
    headers: Mapping[str, str],
    with_metadata: bool,
) -> OpenedStream:
    after, language = read_last_event_id(request), find_language(request, principal)
    into = partial(translate, language) if translate else None
    frames = _stream_run(request, principal, run, after, into, with_metadata)
    return OpenedStream(frames, language, headers)


def _has_nothing_left(run: Run, after: int) -> bool:
    return run.has_ended and after >= run.last_seq > 0


def _stream_run(
    request: HttpRequest,
    principal: Principal,
    run: Run,
    after: int,
    translate: Translate | None,
    with_metadata: bool,
) -> AsyncIterator[bytes]:
    session_key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    watch = RunWatch(run.team_id, run.pk, build_holder(principal, session_key))
    access = watch_stream(principal, run)
    citations = StreamedCitations(principal, run) if with_metadata else None
    return stream_frames(run.team_id, run.pk, after, access, translate, watch, citations)


async def stream_frames(
    team_id: UUID,
    run_id: UUID,
    after: int,
    access: StreamAccess | None = None,
    translate: Translate | None = None,
    watch: RunWatch | None = None,
    citations: StreamedCitations | None = None,
) -> AsyncIterator[bytes]:
    """Yield the frames of the events after ``after``, which ``translate`` puts into the reader's words.

    Events that are there together are yielded together. Record the ``access`` before the first event that it is due for.
    Add the ``citations`` to the last event.
    The stream ends when the ``watch`` isn't allowed any more.
    """
    batches = follow_in_batches(
        get_run_feed(), team_id, run_id, after, idle_seconds=PING_SECONDS, watch=watch
    )
    async for events in batches:
        if access is not None and any(access.is_due(event.name, event.data) for event in events):
            await run_once_in_thread(access.record)
        if citations is not None and events and citations.is_due(events[-1].name):
            last = events[-1]
            data = await run_once_in_thread(citations.add_to, last.data)
            events = [*events[:-1], replace(last, data=data)]
        if translate is not None:
            events = [translate(event) for event in events]
        if not events:
            yield PING_FRAME
        for part in _join_frames(event.frame for event in events):
            yield part


def _join_frames(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Join frames into parts of about ``PART_SIZE``: the server waits between two parts until the client takes them."""
    part, size = [], 0
    for frame in frames:
        part.append(frame)
        size += len(frame)
        if size >= PART_SIZE:
            yield b"".join(part)
            part, size = [], 0
    if part:
        yield b"".join(part)


def read_last_event_id(request: HttpRequest) -> int:
    """Return the number of the last event that the client has, or 0 if it is missing or invalid."""
    text = request.headers.get("Last-Event-ID") or request.GET.get("last_event_id") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


@contextmanager
def close_connections() -> Iterator[None]:
    """Close the thread's connections after the block, except in a transaction. A waiting request would keep them."""
    try:
        yield
    finally:
        for connection in connections.all(initialized_only=True):
            if not connection.in_atomic_block:
                connection.close()
