"""Opens event streams: many at once where their view knows how, and otherwise each by its view.

All of it happens in a few threads of the streams' own. After a restart thousands of clients reconnect at once: more
threads would not serve them sooner, but take the processor and the database connections from the pages.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, NamedTuple, TypeVar

import structlog
from django.core.handlers.base import BaseHandler
from django.db import connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.http.batches import Batches
from config.http.event_streams import EventStream, OpenedStream, OpenTogether, StreamRequest
from config.http.stream_routes import StreamMatch
from config.postgres.outages import is_outage, retry_during_outage


T = TypeVar("T")

log = structlog.get_logger(__name__)

THREADS: Final = 3  # those that are not opened together use the others
BATCH_SIZE: Final = 300
BATCHES_AT_ONCE: Final = 1  # a second one would only wait for the processor
MAX_HEADERS: Final = 256  # kinds of responses whose headers are known


class Question(NamedTuple):
    """A request that waits to be opened with others of its view."""

    together: OpenTogether
    stream_request: StreamRequest
    disconnected: "asyncio.Task[None]"


class StreamOpener:
    """Opens the event streams of one event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="streams")
        self._batches = Batches(self._open_batch, size=BATCH_SIZE, at_once=BATCHES_AT_ONCE)
        self._headers = _Headers()

    async def run_in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        context = copy_context()
        call = partial(context.run, function, *arguments)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def open_together(
        self, match: StreamMatch, request: HttpRequest, disconnected: "asyncio.Task[None]"
    ) -> EventStream | None:
        """Return the response, or None if the view has to answer: with an error, for example."""
        if request.method != "GET" or "%00" in request.META.get("QUERY_STRING", ""):
            return None
        stream_request = StreamRequest(request, match.arguments)
        return await self._batches.ask(Question(match.open_together, stream_request, disconnected))

    async def _open_batch(self, questions: Sequence[Question]) -> list[EventStream | None]:
        # While the database is away the clients wait, which costs them less than a response that says so.
        return await retry_during_outage(
            partial(self.run_in_thread, self._open_all, tuple(questions))
        )

    def _open_all(self, questions: Sequence[Question]) -> list[EventStream | None]:
        streams: dict[StreamRequest, EventStream | None] = {}
        open_questions = [each for each in questions if not each.disconnected.done()]
        try:
            for together in {each.together for each in open_questions}:
                stream_requests = [
                    each.stream_request for each in open_questions if each.together is together
                ]
                streams |= dict(
                    zip(stream_requests, self._open(together, stream_requests), strict=True)
                )
        finally:
            connections.close_all()
        return [streams.get(each.stream_request) for each in questions]

    def _open(
        self, together: OpenTogether, stream_requests: Sequence[StreamRequest]
    ) -> list[EventStream | None]:
        try:
            streams = together(stream_requests)
        except Exception as error:
            if is_outage(error):
                raise
            log.exception("event_streams.not_opened_together", count=len(stream_requests))
            streams = [None for _ in stream_requests]  # so that one request can't fail the others
        return [
            self._headers.build_response(each.request, stream, together) if stream else None
            for each, stream in zip(stream_requests, streams, strict=True)
        ]


class _Headers(BaseHandler):
    """The headers that the middlewares add to an event stream. They add the same ones to all responses of a kind.

    The middlewares run for the first response of each kind, around a view that is an empty stream.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, dict[str, str]] = {}
        self.load_middleware()

    def build_response(
        self, request: HttpRequest, opened: OpenedStream, together: OpenTogether
    ) -> EventStream | None:
        """Return the response; None if a middleware doesn't let the request pass."""
        host = request.headers.get("Host", "")
        has_key = "Authorization" in request.headers
        kind = (together, request.scheme, host, has_key, opened.language)
        headers = self._known.get(kind)
        if headers is None:
            response = self.get_response(request)
            if not isinstance(response, EventStream) or response.cookies:
                return None
            headers = dict(response.items())
            if len(self._known) < MAX_HEADERS:
                self._known[kind] = headers
        response = EventStream(opened.frames)
        for name, value in (*headers.items(), *opened.headers.items()):
            response[name] = value
        return response

    def _get_response(self, request: HttpRequest) -> HttpResponseBase:
        return EventStream(_send_nothing())


async def _send_nothing() -> AsyncIterator[bytes]:
    frames: tuple[bytes, ...] = ()
    for frame in frames:
        yield frame
