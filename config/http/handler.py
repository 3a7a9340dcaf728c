"""The ASGI handler. It runs a synchronous view and all its middleware in a thread, to which it switches only once.

Django would run each middleware of a synchronous view as a coroutine that switches to the thread and back. On a busy
machine each switch waits for the processor. Django would also keep that thread as long as the response is being sent;
for an event stream this is hours, so the handler ends such a request before it sends the stream.
"""

import asyncio
from typing import IO, Any, Final
from weakref import WeakKeyDictionary

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch, set_script_prefix

from config.http.event_streams import (
    EventStream,
    Message,
    send_stream,
    wait_for_disconnect,
)
from config.http.stream_opening import StreamOpener
from config.http.stream_routes import StreamMatch, StreamRoutes


_MATCH: Final = "mnemoflow.resolver_match"  # the key in the scope of a request


class _PreResolvedHandler(BaseHandler):
    """Uses the match that ``Handler`` has found to choose the middleware chain, so that the URL is resolved once."""

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        if request.resolver_match is None or hasattr(request, "urlconf"):
            return super().resolve_request(request)
        return request.resolver_match


class Handler(_PreResolvedHandler, ASGIHandler):
    """Runs asynchronous views in the asynchronous middleware chain, and all others in the synchronous one."""

    def __init__(self) -> None:
        super().__init__()
        self._plain = _PreResolvedHandler()
        self._plain.load_middleware()
        self._routes = StreamRoutes()
        self._stream_openers: WeakKeyDictionary[asyncio.AbstractEventLoop, StreamOpener] = (
            WeakKeyDictionary()
        )

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:  # Any: ASGI's open forms
        match = self._routes.find(scope["path"].removeprefix(scope.get("root_path", "")))
        if not isinstance(match, StreamMatch):
            await super().handle({**scope, _MATCH: match}, receive, send)
            return
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
                await self.send_response(response, send)
        finally:
            disconnected.cancel()
            body.close()

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        request.resolver_match = request.scope.get(_MATCH)  # type: ignore[attr-defined]  # an ASGIRequest has it
        if request.resolver_match and iscoroutinefunction(request.resolver_match.func):
            return await super().get_response_async(request)
        return await sync_to_async(self._plain.get_response, thread_sensitive=True)(request)

    async def _open_stream(
        self,
        scope: Message,
        body: IO[bytes],
        match: StreamMatch,
        disconnected: "asyncio.Task[None]",
    ) -> HttpResponseBase | None:
        """Return the response to a request that has ended: its thread and its database connection are free again."""
        request, _error = self.create_request(scope, body)
        opener = self._get_stream_opener()
        if request is not None:
            response = await opener.open_together(match, request, disconnected)
            if response is not None:
                return response
        return await opener.run_in_thread(self._respond, scope, body, disconnected)

    def _respond(
        self, scope: Message, body: IO[bytes], disconnected: "asyncio.Task[None]"
    ) -> HttpResponseBase | None:
        """Return the response of a request that has ended, or None if the client left while it waited for its turn."""
        if disconnected.done():
            return None
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response: Any = self._plain.get_response(request) if request is not None else refusal
        response._handler_class = self.__class__
        response.close()  # closes the thread's database connections
        return response  # type: ignore[no-any-return]

    def _get_stream_opener(self) -> StreamOpener:
        """Return the opener of the running event loop; a web process has one."""
        loop = asyncio.get_running_loop()
        if loop not in self._stream_openers:
            self._stream_openers[loop] = StreamOpener()
        return self._stream_openers[loop]
