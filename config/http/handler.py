"""The ASGI handler. It runs a synchronous view and all its middleware in a thread, to which it switches only once.

Django would run each middleware of a synchronous view as a coroutine that switches to the thread and back. On a busy
machine each switch waits for the processor.
"""

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve


class _PreResolvedHandler(BaseHandler):
    """Uses the match that ``Handler`` has found to choose the middleware chain, so that the URL is resolved once."""

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        if request.resolver_match is None or hasattr(request, "urlconf"):
            return super().resolve_request(request)
        return request.resolver_match


class Handler(_PreResolvedHandler, ASGIHandler):
    """Runs asynchronous views (event streams) in the asynchronous middleware chain, and all others in the synchronous one."""

    def __init__(self) -> None:
        super().__init__()
        self._plain = _PreResolvedHandler()
        self._plain.load_middleware()

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        request.resolver_match = _find_match(request.path_info)
        if request.resolver_match and iscoroutinefunction(request.resolver_match.func):
            return await super().get_response_async(request)
        return await sync_to_async(self._plain.get_response, thread_sensitive=True)(request)


def _find_match(path: str) -> ResolverMatch | None:
    try:
        return resolve(path)
    except Resolver404:
        return None  # the chain responds with the 404 page
