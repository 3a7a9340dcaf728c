"""A run's events as server-sent events: native names, ``id:`` = sequence, resumed by Last-Event-ID.

Who may read is asked before the stream begins; the stream itself holds no database connection of
the request and no thread, only a place in the process's hub.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from json import dumps
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from accounts.access import Principal, get_principal
from accounts.tenancy import tenant
from workflows.execution.events.reader import StreamEvent, follow
from workflows.execution.events.run_feed import get_run_feed
from workflows.models import Run
from workflows.selectors import run_for
from workflows.services.runs.run_access import StreamAccess, watch_stream


PING = 15.0  # seconds; proxies close what is silent for longer
RETRY_MS = 1000
HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Content-Encoding": "identity",  # a stream that is compressed is a stream that is buffered
}


@require_safe
async def run_events(request: HttpRequest, run_id: UUID) -> HttpResponseBase:
    """For pages, by session."""
    principal, run = await sync_to_async(_admitted)(request, run_id)
    return stream_of(request, principal, run)


def stream_of(request: HttpRequest, principal: Principal, run: Run) -> HttpResponseBase:
    """The stream of a run that the caller has found for the one who asks."""
    after = last_event_id(request)
    if run.has_ended and after >= run.last_seq > 0:
        return HttpResponse(status=204)  # tells a browser to stop asking
    return StreamingHttpResponse(
        lines(run.team_id, run.pk, after, watch_stream(principal, run)),
        content_type="text/event-stream",
        headers=HEADERS,
    )


async def lines(
    team_id: UUID, run_id: UUID, after: int, watch: StreamAccess | None = None
) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MS}\n\n".encode()
    async for said in follow(get_run_feed(), team_id, run_id, after, patience=PING):
        if watch is not None and said is not None and watch.is_due(said.name, said.data):
            await sync_to_async(_noted)(watch)  # before it is shown
        yield b": still here\n\n" if said is None else frame(said)


def frame(said: StreamEvent) -> bytes:
    data = dumps(said.data, ensure_ascii=False, separators=(",", ":"))
    number = "" if said.seq is None else f"id: {said.seq}\n"
    return f"{number}event: {said.name}\ndata: {data}\n\n".encode()


def last_event_id(request: HttpRequest) -> int:
    """What isn't a number of ours is none: the reader gets the whole run."""
    given = request.headers.get("Last-Event-ID") or request.GET.get("last_event_id") or ""
    return int(given) if given.isascii() and given.isdigit() and len(given) < 19 else 0


def find_run(principal: Principal, run_id: UUID) -> Run:
    """Find and admit, and give the connection back before the stream begins."""
    with connections_given_back(), tenant(principal.team_ids):
        return run_for(principal, run_id)


@contextmanager
def connections_given_back() -> Iterator[None]:
    """In the thread that opened them: a stream would keep them to its end.

    Inside a transaction that somebody else began the connection isn't ours to close.
    """
    try:
        yield
    finally:
        for connection in connections.all(initialized_only=True):
            if not connection.in_atomic_block:
                connection.close()


def _admitted(request: HttpRequest, run_id: UUID) -> tuple[Principal, Run]:
    principal = get_principal(request)
    return principal, find_run(principal, run_id)


def _noted(watch: StreamAccess) -> None:
    with connections_given_back():
        watch.note()
