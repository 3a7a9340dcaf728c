"""Event streams: responses that stay open long after their request has ended.

A view that opens one is synchronous. It finds its object, checks access and returns an ``EventStream``, like any other
view, behind the same middleware. Then the request ends: its transaction, its database connection and its thread are
given back. Only then the events are sent, by a coroutine that needs none of them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import structlog
from django.http import HttpRequest, StreamingHttpResponse


Message = dict[str, Any]  # Any: ASGI's messages are open
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
View = TypeVar("View", bound=Callable[..., Any])

# A client that takes nothing for so long is disconnected. It reconnects with Last-Event-ID when it is able to.
SEND_SECONDS: Final = 20.0
RETRY_MS: Final = 1000  # after which a client reconnects
PING_FRAME: Final = b": still here\n\n"
_HEADERS: Final = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Content-Encoding": "identity",  # compression would buffer the stream
}
_MARK: Final = "opens_event_stream"

log = structlog.get_logger(__name__)


class EventStream(StreamingHttpResponse):
    """A response with server-sent events. Each item of ``frames`` is one frame or several.

    Clients of our own API are told when to reconnect; those of other APIs expect no such line.
    """

    def __init__(self, frames: AsyncIterator[bytes], *, reconnects: bool = True) -> None:
        super().__init__(
            _add_retry(frames) if reconnects else frames,
            content_type="text/event-stream",
            headers=dict(_HEADERS),
        )


@dataclass(frozen=True, slots=True, eq=False)
class StreamRequest:
    """A request for an event stream that waits to be answered, and the arguments from its path."""

    request: HttpRequest
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OpenedStream:
    """The stream that answers a request, in a language, and the headers that only this response has."""

    frames: AsyncIterator[bytes]
    language: str
    headers: Mapping[str, str] = field(default_factory=dict)


# Answers many requests at once, in a thread. None means that the request isn't a plain success: the view answers it.
OpenTogether = Callable[[Sequence[StreamRequest]], Sequence[OpenedStream | None]]


def opens_event_stream(open_together: OpenTogether | None = None) -> Callable[[View], View]:
    """Mark a view that returns an ``EventStream``, so that the handler runs it among the others that do.

    After a restart all clients come back at once. ``open_together`` then authenticates them and finds their objects with
    a few queries for many of them; it must decide as the view and its middleware do.
    """

    def mark(view: View) -> View:
        setattr(view, _MARK, open_together or _open_none)
        return view

    return mark


def find_opener(view: Callable[..., Any]) -> OpenTogether | None:
    """Return how streams of this view are opened together; None if it is no view of event streams."""
    opener: OpenTogether | None = getattr(view, _MARK, None)
    if opener is not None:
        return opener
    # The operations of the API are behind a function of Ninja's.
    for cell in getattr(view, "__closure__", None) or ():
        for operation in getattr(cell.cell_contents, "operations", ()):
            opener = opener or getattr(operation.view_func, _MARK, None)
    return opener


def _open_none(requests: Sequence[StreamRequest]) -> list[None]:
    return [None for _ in requests]


async def send_stream(
    response: EventStream, disconnected: "asyncio.Task[None]", send: Send
) -> None:
    """Send the frames until they end, the client disconnects, or it has taken nothing for ``SEND_SECONDS``."""
    sending = asyncio.create_task(_send_frames(response, send))
    try:
        await asyncio.wait({sending, disconnected}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # The task is awaited even if this one is cancelled, because its generator leaves the feed. Libraries sometimes
        # swallow a cancellation, so it is repeated.
        while not sending.done():
            sending.cancel()
            await asyncio.wait({sending}, timeout=1)
    if not sending.cancelled():
        sending.result()


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_frames(response: EventStream, send: Send) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": _encode_headers(response),
        }
    )
    async with aclosing(aiter(response)) as frames:  # type: ignore[type-var]  # an async generator
        async for frame in frames:
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
            except TimeoutError:
                log.info("event_stream.client_too_slow")
                _abort_connection(send)
                return
    await send({"type": "http.response.body"})


def _encode_headers(response: EventStream) -> list[tuple[bytes, bytes]]:
    pairs = [(name, value) for name, value in response.items()]
    pairs += [("Set-Cookie", cookie.OutputString()) for cookie in response.cookies.values()]
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]


def _abort_connection(send: Send) -> None:
    """Close the connection without waiting until the client has taken what was sent, which ASGI has no message for."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is not None:
        transport.abort()
        return
    for cell in (
        getattr(send, "__closure__", None) or ()
    ):  # the function of an application around ours
        if callable(cell.cell_contents):
            _abort_connection(cell.cell_contents)


async def _add_retry(frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Add the delay of reconnects to the first frame with an event: common clients fail on a frame without one."""
    retry = f"retry: {RETRY_MS}\n".encode()
    async for frame in frames:
        if retry and frame != PING_FRAME:
            frame, retry = retry + frame, b""
        yield frame
