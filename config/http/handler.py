"""The ASGI handler. It runs a whole request in a thread, to which it switches only once.

Django would start a thread for each request, switch to it for the signals at the begin and the end, and run each middleware
as a coroutine that switches as well. On a busy machine each switch waits for the processor. Django would also keep that
thread as long as the response is being sent; for an event stream this is hours, so the handler ends such a request before
it sends the stream. An asynchronous view is awaited by the thread, behind the same middleware as all others.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import IO, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from asgiref.sync import ThreadSensitiveContext, iscoroutinefunction, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.db import close_old_connections
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch, set_script_prefix

from config.http.event_streams import (
    EventStream,
    Message,
    send_stream,
    wait_for_disconnect,
)
from config.http.page_threads import PageThreads, await_in_loop
from config.http.stream_opening import StreamOpener
from config.http.stream_routes import StreamMatch, StreamRoutes


_MATCH: Final = "mnemoflow.resolver_match"  # the key in the scope of a request


class _PageHandler(BaseHandler):
    """Uses the match that ``Handler`` has found, so that the URL is resolved once, and awaits asynchronous views."""

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        if request.resolver_match is None or hasattr(request, "urlconf"):
            return super().resolve_request(request)
        return request.resolver_match

    def make_view_atomic(self, view: Callable[..., Any]) -> Callable[..., Any]:
        if iscoroutinefunction(view):
            return partial(await_in_loop, view)
        return super().make_view_atomic(view)


class Handler(ASGIHandler):
    """Runs requests in threads, and sends their responses."""

    def __init__(self) -> None:
        super().__init__()
        self._plain = _PageHandler()
        self._plain.load_middleware()
        self._routes = StreamRoutes()
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopThreads] = (
            WeakKeyDictionary()
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # Any: ASGI's open forms
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)  # refuses it
            return
        match = self._routes.find(scope["path"].removeprefix(scope.get("root_path", "")))
        if isinstance(match, StreamMatch):
            await self._answer_with_stream({**scope, _MATCH: match.resolved}, match, receive, send)
            return
        await self._answer_with_page({**scope, _MATCH: match}, receive, send)

    def create_request(self, scope: Any, body_file: IO[bytes]) -> Any:
        request, refusal = super().create_request(scope, body_file)
        if request is not None:
            request.resolver_match = scope.get(_MATCH)
        return request, refusal

    async def _answer_with_page(self, scope: Message, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        disconnected = asyncio.create_task(wait_for_disconnect(receive))
        try:
            response = await self._get_threads().pages.run(
                self._respond, scope, body, disconnected, disconnected=disconnected
            )
            if isinstance(response, EventStream):
                await send_stream(response, disconnected, send)
            elif response is not None:
                await self._send_page(response, send)
        finally:
            disconnected.cancel()
            body.close()

    async def _send_page(self, response: HttpResponseBase, send: Any) -> None:
        if response.closed:
            await self.send_response(response, send)
            return
        # Its parts are read while they are sent: from a file, for example.
        async with ThreadSensitiveContext():
            try:
                await self.send_response(response, send)
            finally:
                await sync_to_async(response.close)()

    async def _answer_with_stream(
        self, scope: Message, match: StreamMatch, receive: Any, send: Any
    ) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        disconnected = asyncio.create_task(wait_for_disconnect(receive))
        try:
            response = await self._open_stream(scope, body, match, disconnected)
            if isinstance(response, EventStream):
                await send_stream(response, disconnected, send)
            elif response is not None:
                await self._send_page(response, send)
        finally:
            disconnected.cancel()
            body.close()

    async def _open_stream(
        self,
        scope: Message,
        body: IO[bytes],
        match: StreamMatch,
        disconnected: "asyncio.Task[None]",
    ) -> HttpResponseBase | None:
        """Return the response to a request that has ended: its thread and its database connection are free again."""
        request, _error = self.create_request(scope, body)
        opener = self._get_threads().streams
        if request is not None:
            response = await opener.open_together(match, request, disconnected)
            if response is not None:
                return response
        return await opener.run_in_thread(self._respond, scope, body, disconnected)

    def _respond(
        self, scope: Message, body: IO[bytes], disconnected: "asyncio.Task[None]"
    ) -> HttpResponseBase | None:
        """Return the response of a request, or None if the client left while it waited for its turn, or for a coroutine.

        The request has ended, unless its response is still to be read from a file, for example.
        """
        if disconnected.done():
            return None
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response: Any = refusal
        if request is not None:
            try:
                response = self._plain.get_response(request)
            except asyncio.CancelledError:
                signals.request_finished.send(sender=self.__class__)  # closes the connections
                return None
        response._handler_class = self.__class__
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if response.streaming and not isinstance(response, EventStream):
            close_old_connections()
        else:
            response.close()  # closes the thread's database connections
        return response  # type: ignore[no-any-return]

    def _get_threads(self) -> "_LoopThreads":
        """Return the threads of the running event loop; a web process has one."""
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            self._loops[loop] = _LoopThreads(PageThreads(), StreamOpener())
        return self._loops[loop]


class _LoopThreads(NamedTuple):
    """The threads of one event loop, by what they answer with."""

    pages: PageThreads
    streams: StreamOpener
