"""Turns what the parser of HTTP/2 says about a server's answer into the errors of httpx2."""

from collections.abc import Iterator
from contextlib import contextmanager

import h2.exceptions
import httpx2


@contextmanager
def blame_server() -> Iterator[None]:
    """Raise ``RemoteProtocolError`` for an answer that breaks the rules of HTTP/2.

    httpcore2 raises the parser's own error while a body is read, and ``LocalProtocolError`` before, as if the request
    had been wrong.
    """
    try:
        yield
    except h2.exceptions.H2Error as error:
        raise httpx2.RemoteProtocolError("The answer is not valid HTTP/2.") from error
    except httpx2.LocalProtocolError as error:
        if not _is_about_answer(error.__cause__):
            raise
        raise httpx2.RemoteProtocolError("The answer is not valid HTTP/2.") from error


def _is_about_answer(cause: BaseException | None) -> bool:
    parts = cause.args if cause else ()
    return any(isinstance(part, h2.exceptions.InvalidBodyLengthError) for part in parts)
