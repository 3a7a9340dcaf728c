"""Turns a provider's failures into messages for users.

The messages contain neither the provider's text, which may repeat the key or the prompt, nor a resolved address, with
which users could explore the server's network.
"""

import re
import socket
import ssl
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import openai

from config import net
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import ModelRequest
from workflows.llm.failure_messages import (
    BAD_ADDRESS,
    BAD_CALL,
    BAD_TOOL,
    BY_STATUS,
    CUT_OFF,
    FILTERED,
    NO_CERTIFICATE,
    NO_IMAGES,
    NO_TOOLS,
    OTHER_STATUS,
    REDIRECT,
    REFUSING_STATUSES,
    SERVER_ERROR,
    TOO_LONG,
    UNKNOWN_HOST,
    UNREACHABLE,
    UNREADABLE,
)


_TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window)|maximum context|too many tokens|prompt is too long", re.I
)
_FILTERED = re.compile(r"content.?(filter|management|policy)", re.I)
# What endpoints say that know no tools, and those that know them but not this one.
_TOOLS = re.compile(
    r"\btools?\b|tool.?(use|call|choice)|function.?call|\bfunctions?\b|schema error", re.I
)
_BAD_TOOL = re.compile(
    r"schema error|invalid.{0,30}(schema|name|parameter)|\btools[.\[]\d|schema for function", re.I
)
_BAD_CALL: Final = "tool_use_failed"  # the error code of Groq
_IMAGES = re.compile(r"image|vision|multimodal|content.{0,20}(string|list|array)", re.I)

# By name, because only config.net may import httpx2.
_TIMEOUTS: Final = frozenset(
    {"ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout", "TimeIsUp"}
)


class ModelRateLimited(ModelFailed):
    """The provider's rate limit was reached. ``retry_after`` are the seconds that the provider asks to wait, if any."""

    def __init__(self, message: str, *, retry_after: float | None) -> None:
        super().__init__(message, retryable=True, status=429)
        self.retry_after = retry_after


def build_failure(
    error: Exception,
    *,
    provider: str,
    model: str,
    address: str,
    request: ModelRequest | None = None,
) -> ModelFailed:
    """Return the failure for anything that the openai package or the guarded client raised."""
    values = {"provider": provider[:80], "model": model[:100], **_name_address(address)}
    if isinstance(error, openai.APIStatusError):
        refusal = _explain_refused_parts(error, request, values) if request else None
        return refusal or _explain_status(error, values)
    for cause in _walk_causes(error):
        if failure := _explain_cause(cause, values):
            return failure
    if isinstance(error, openai.APIConnectionError):
        return _explain_unreachable(error, values)
    if isinstance(error, openai.APIError) and _TOO_LONG.search(_read_error_text(error)):
        return ModelFailed(TOO_LONG.format(**values))
    return ModelFailed(UNREADABLE.format(**values), retryable=True)


def _name_address(address: str) -> dict[str, str]:
    """Return the base URL as the team entered it and its host, without a password or parameters."""
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        name = parts.hostname or host
    except ValueError:
        return {"address": "", "host": ""}
    return {"address": f"{parts.scheme}://{host}{parts.path}"[:200], "host": name[:200]}


def _explain_refused_parts(
    error: openai.APIStatusError, request: ModelRequest, values: dict[str, str]
) -> ModelFailed | None:
    """Return the failure of a request whose tools or images were refused, or None if it failed for another reason."""
    status = error.status_code
    if status not in REFUSING_STATUSES:
        return None
    text = _read_error_text(error)
    if _TOO_LONG.search(text) or _FILTERED.search(text):
        return None
    if request.tools and error.code == _BAD_CALL:
        return ModelFailed(BAD_CALL.format(**values), retryable=True, status=status)
    if request.tools and _TOOLS.search(text):
        message = BAD_TOOL if _BAD_TOOL.search(text) else NO_TOOLS
        return ModelFailed(message.format(**values), status=status)
    if _has_images(request) and _IMAGES.search(text):
        return ModelFailed(NO_IMAGES.format(**values), status=status)
    return None


def _has_images(request: ModelRequest) -> bool:
    return any(message.images for message in request.messages)


def _explain_status(error: openai.APIStatusError, values: dict[str, str]) -> ModelFailed:
    status = error.status_code
    if status == 429:
        return _explain_rate_limit(error, values)
    if status in {400, 413, 422} and _TOO_LONG.search(_read_error_text(error)):
        return ModelFailed(TOO_LONG.format(**values), status=status)
    if status in {400, 403} and _FILTERED.search(_read_error_text(error)):
        return ModelFailed(FILTERED.format(**values), status=status)
    is_redirect = 300 <= status < 400
    fallback = SERVER_ERROR if status >= 500 else REDIRECT if is_redirect else OTHER_STATUS
    message, retryable = BY_STATUS.get(status, fallback)
    message = message.format(status=status, **values)
    return ModelFailed(message, retryable=retryable, status=status)


def _explain_rate_limit(error: openai.APIStatusError, values: dict[str, str]) -> ModelFailed:
    if error.code == "insufficient_quota":
        return ModelFailed(BY_STATUS[402][0].format(**values), status=429)
    seconds = net.parse_retry_after(error.response.headers.get("retry-after", ""))
    advice = "" if seconds is None else f" Retry after {seconds:g} s."
    message = f"The rate limit of {values['provider']} was reached.{advice}"
    return ModelRateLimited(message, retry_after=seconds)


def _explain_cause(cause: BaseException, values: dict[str, str]) -> ModelFailed | None:
    """Return the failure for a connection error that explains itself, or None for any other cause."""
    name = type(cause).__name__
    if isinstance(cause, net.NetFault) and name not in _TIMEOUTS:
        return ModelFailed(f"{values['provider']}: {cause}")
    if isinstance(cause, openai.APITimeoutError | TimeoutError) or name in _TIMEOUTS:
        return ModelFailed("{provider} took too long to respond.".format(**values), retryable=True)
    if name in {"InvalidURL", "UnsupportedProtocol", "LocalProtocolError"}:
        return ModelFailed(BAD_ADDRESS.format(**values))
    if name in {"RemoteProtocolError", "ReadError"}:
        return ModelFailed(CUT_OFF.format(**values), retryable=True)
    return None


def _explain_unreachable(error: Exception, values: dict[str, str]) -> ModelFailed:
    causes = tuple(_walk_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return ModelFailed(UNKNOWN_HOST.format(**values), retryable=True)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return ModelFailed(NO_CERTIFICATE.format(**values))
    return ModelFailed(UNREACHABLE.format(**values), retryable=True)


def _walk_causes(error: BaseException | None) -> Iterator[BaseException]:
    depth = 0
    while error is not None and depth < 10:
        yield error
        error, depth = error.__cause__ or error.__context__, depth + 1


def _read_error_text(error: openai.APIError) -> str:
    """Return the provider's text, which is only used to recognize an error and never shown."""
    return f"{error.code or ''} {error.message} {error.body!r}"[:4000]
