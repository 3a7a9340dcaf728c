"""How requests reach Django under ASGI: one thread and one hop for what isn't async, and most isn't.

Django would run every middleware of an ordinary view as a coroutine that goes to the thread and back, twice for
each of them. On a busy machine each of those turns waits for the processor.
"""

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve


class Handler(ASGIHandler):
    """Event streams keep the asynchronous chain; everything else has the synchronous one, in its request's thread."""

    def __init__(self) -> None:
        super().__init__()
        self._plain = BaseHandler()
        self._plain.load_middleware()

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        if _is_async(request.path_info):
            return await super().get_response_async(request)
        return await sync_to_async(self._plain.get_response, thread_sensitive=True)(request)


def _is_async(path: str) -> bool:
    try:
        return iscoroutinefunction(resolve(path).func)
    except Resolver404:
        return False
