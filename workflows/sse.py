"""Stream a run's events as server-sent events. ``id:`` is the event's number, after which Last-Event-ID resumes.

Access is checked before the stream begins. The stream itself needs no thread and no database connection of the request,
only a subscription in the process's hub.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from json import dumps
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from accounts.principals import Principal, get_principal
from accounts.tenancy import tenant
from workflows import selectors
from workflows.execution.events.reader import StreamEvent, follow
from workflows.execution.events.run_feed import get_run_feed
from workflows.models import Run
from workflows.services.runs.run_access import StreamAccess, watch_stream


PING_SECONDS = 15.0  # between pings; proxies close connections that are idle for longer
RETRY_MS = 1000
HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Content-Encoding": "identity",  # compression would buffer the stream
}


@require_safe
async def run_events(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """Stream a run's events to a page, authenticated by session."""
    principal, run = await sync_to_async(_authorize)(request, run_id)
    return build_response(request, principal, run)


def build_response(request: HttpRequest, principal: Principal, run: Run) -> HttpResponseBase:
    """Return the stream of a run that the caller has found for this principal."""
    after = read_last_event_id(request)
    if run.has_ended and after >= run.last_seq > 0:
        return HttpResponse(status=204)  # stops a browser from reconnecting
    return StreamingHttpResponse(
        stream_lines(run.team_id, run.pk, after, watch_stream(principal, run)),
        content_type="text/event-stream",
        headers=HEADERS,
    )


async def stream_lines(
    team_id: UUID, run_id: UUID, after: int, access: StreamAccess | None = None
) -> AsyncIterator[bytes]:
    """Yield the frames of the events after ``after``. Record the ``access`` before the first event that it is due for."""
    yield f"retry: {RETRY_MS}\n\n".encode()
    async for event in follow(get_run_feed(), team_id, run_id, after, idle_seconds=PING_SECONDS):
        if access is not None and event is not None and access.is_due(event.name, event.data):
            await sync_to_async(_record_access)(access)
        yield b": still here\n\n" if event is None else build_frame(event)


def build_frame(event: StreamEvent) -> bytes:
    data = dumps(event.data, ensure_ascii=False, separators=(",", ":"))
    id_line = "" if event.seq is None else f"id: {event.seq}\n"
    return f"{id_line}event: {event.name}\ndata: {data}\n\n".encode()


def read_last_event_id(request: HttpRequest) -> int:
    """Return the number of the last event that the client has, or 0 if it is missing or invalid."""
    text = request.headers.get("Last-Event-ID") or request.GET.get("last_event_id") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def find_run(principal: Principal, run_id: UUID) -> Run:
    """Find the run, check access, and release the connection before the stream begins."""
    with close_connections(), tenant(principal.team_ids):
        return selectors.find_run(principal, run_id)


@contextmanager
def close_connections() -> Iterator[None]:
    """Close the thread's connections after the block, except in a transaction. A stream would keep them until it ends."""
    try:
        yield
    finally:
        for connection in connections.all(initialized_only=True):
            if not connection.in_atomic_block:
                connection.close()


def _authorize(request: HttpRequest, run_id: UUID) -> tuple[Principal, Run]:
    principal = get_principal(request)
    return principal, find_run(principal, run_id)


def _record_access(access: StreamAccess) -> None:
    with close_connections():
        access.record()
