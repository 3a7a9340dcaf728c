"""Sends a request and reads the complete response, for callers that need neither streams nor httpx2 types."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from config.net.clients import build_client
from config.net.errors import BodyTooLarge, NetFault


# Headers that the HTTP client sets. Duplicate or wrong values could split one request into two.
_CONNECTION_HEADERS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer",
     "keep-alive", "proxy-connection", "expect"}
)  # fmt: skip
_MESSAGES: Final[Mapping[type[Exception], tuple[str, bool]]] = {
    httpx2.InvalidURL: ("{host} is not a valid address.", False),
    httpx2.UnsupportedProtocol: ("Only http and https URLs can be called.", False),
    httpx2.TooManyRedirects: ("{host} redirects too often.", False),
    httpx2.ProxyError: ("The operator's proxy doesn't let {host} through.", True),
    httpx2.ConnectTimeout: ("{host} took too long to connect.", True),
    httpx2.TimeoutException: ("{host} took too long to respond.", True),
    httpx2.LocalProtocolError: ("The request is not valid HTTP.", False),
    httpx2.RemoteProtocolError: ("{host} closed the connection or doesn't speak HTTP.", True),
    httpx2.ConnectError: ("{host} could not be reached.", True),
    UnicodeError: ("{host} is not a valid address.", False),
}
_STATUS_MESSAGES: Final[Mapping[int, str]] = {
    401: "{host} refused the request: a key is missing or not valid.",
    403: "{host} refused the request.",
    404: "{host} has nothing at this address.",
    405: "{host} has nothing at this address.",
    **dict.fromkeys((301, 302, 303, 307, 308), "{host} redirects to another address."),
}


@dataclass(frozen=True, slots=True)
class FormFile:
    field: str
    name: str
    content: bytes
    mime_type: str


@dataclass(frozen=True, slots=True)
class Exchange:
    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str  # after all redirects


class ExchangeFailed(Exception):
    """There was no response. ``retryable`` says whether a later attempt may get one.

    ``is_sent`` is False if there was no connection, so that the request can't have had any effect.
    """

    def __init__(
        self, message: str, *, retryable: bool, too_large: bool = False, is_sent: bool = True
    ) -> None:
        super().__init__(message)
        self.retryable, self.too_large, self.is_sent = retryable, too_large, is_sent


async def send_request(
    method: str,
    url: str,
    *,
    headers: Sequence[tuple[str, str]] = (),
    params: Sequence[tuple[str, str]] = (),
    content: bytes | None = None,
    form: Sequence[tuple[str, str]] | None = None,
    files: Sequence[FormFile] = (),
    multipart: bool = False,
    limit: Callable[[Mapping[str, str]], int],
    max_body: int,
    **options: Any,
) -> Exchange:
    """Send a request, follow redirects, which are checked like the URL, and return the response.

    ``limit`` returns the maximum size of the body for the headers of the response. ``options`` are parameters of
    ``build_client``. Raise ``ExchangeFailed``, whose message never contains a resolved address.
    """
    try:
        async with build_client(
            follow_redirects=True, max_body=max_body, http2=True, **options
        ) as http:
            request = http.build_request(
                method,
                _add_params(url, params),
                headers=_encode_headers(headers),
                **_build_body(content, form, files, multipart=multipart),
            )
            async with aclosing(await http.send(request, stream=True)) as response:
                response_headers = {name.lower(): value for name, value in response.headers.items()}
                body = await _read_body(response, limit(response_headers))
                return Exchange(response.status_code, response_headers, body, str(response.url))
    except BodyTooLarge:
        raise _report_too_large(max_body) from None
    except NetFault as fault:
        raise ExchangeFailed(str(fault), retryable=bool(fault.retryable)) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        raise _describe_error(error, url) from None


async def _read_body(response: httpx2.Response, limit: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            raise _report_too_large(limit)
    return bytes(body)


def _report_too_large(limit: int) -> ExchangeFailed:
    message = f"The response is larger than {limit // (1024 * 1024)} MB"
    return ExchangeFailed(message, retryable=False, too_large=True)


def _encode_headers(headers: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [
        (name.encode(), value.encode())
        for name, value in headers
        if name.lower() not in _CONNECTION_HEADERS
    ]


def _add_params(url: str, params: Sequence[tuple[str, str]]) -> httpx2.URL:
    """Return the URL with the parameters after its own."""
    parsed = httpx2.URL(url)
    if not params:
        return parsed
    return parsed.copy_with(params=httpx2.QueryParams([*parsed.params.multi_items(), *params]))


def _build_body(
    content: bytes | None,
    form: Sequence[tuple[str, str]] | None,
    files: Sequence[FormFile],
    *,
    multipart: bool,
) -> dict[str, Any]:
    if form is None:
        return {} if content is None else {"content": content}
    if not multipart:
        return {"content": str(httpx2.QueryParams(list(form))).encode()}
    # Fields are added as parts without a file name, so that a form without files can be multipart as well.
    fields: list[tuple[str, Any]] = [(name, (None, value.encode())) for name, value in form]
    parts = [(file.field, (file.name, file.content, file.mime_type)) for file in files]
    return {"files": [*fields, *parts]}


def describe_failure(error: BaseException, url: str) -> ExchangeFailed | None:
    """Return the failure that an exception of a client of this package means, or None for any other exception."""
    if isinstance(error, ExchangeFailed):
        return error
    if isinstance(error, httpx2.HTTPStatusError):
        status = error.response.status_code
        message = _STATUS_MESSAGES.get(status, "{host} answered with the status {status}.")
        return ExchangeFailed(
            message.format(host=_format_host(url), status=status), retryable=status >= 500
        )
    if isinstance(error, NetFault):
        return ExchangeFailed(
            str(error), retryable=bool(error.retryable), too_large=isinstance(error, BodyTooLarge)
        )
    if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
        return _describe_error(error, url)
    return None


def _describe_error(error: Exception, url: str) -> ExchangeFailed:
    host = _format_host(url)
    is_sent = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
    for kind, (message, retryable) in _MESSAGES.items():
        if isinstance(error, kind):
            return ExchangeFailed(message.format(host=host), retryable=retryable, is_sent=is_sent)
    return ExchangeFailed(f"{host} could not be reached.", retryable=True)


def _format_host(url: str) -> str:
    try:
        return repr(httpx2.URL(url).host[:100])
    except httpx2.InvalidURL:
        return "The address"
