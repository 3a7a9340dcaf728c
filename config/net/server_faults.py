"""Turns the errors of a server's answer that httpx2 passes on as they are into its own."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import h2.exceptions
import httpx2


@contextmanager
def blame_server() -> Iterator[None]:
    """Raise ``RemoteProtocolError`` or ``ReadError`` for what the server did to its answer.

    An answer that breaks the rules of HTTP/2 raises the parser's own error while its body is read, and before that
    ``LocalProtocolError``, as if the request had been wrong. TLS that breaks off raises the error of its library.
    """
    try:
        yield
    except h2.exceptions.H2Error as error:
        raise httpx2.RemoteProtocolError("The answer is not valid HTTP/2.") from error
    except httpx2.LocalProtocolError as error:
        if not _is_about_answer(error.__cause__):
            raise
        raise httpx2.RemoteProtocolError("The answer is not valid HTTP/2.") from error
    except (ssl.SSLError, anyio.EndOfStream) as error:
        raise httpx2.ReadError("The connection broke off.") from error


def _is_about_answer(cause: BaseException | None) -> bool:
    parts = cause.args if cause else ()
    return any(isinstance(part, h2.exceptions.InvalidBodyLengthError) for part in parts)
