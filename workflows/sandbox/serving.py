"""The loop of every runner process (read a frame, do the job, write a frame, until the pipe closes) and its replies.

It uses the standard library only: no Django, no settings, no database, an empty environment.
"""

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from workflows.sandbox import frames


MAX_VALUE_BYTES = 1_000_000
MAX_MESSAGE = 600  # characters of an error

Job = Callable[[dict[str, Any]], dict[str, Any]]


@contextmanager
def redirect_output() -> Iterator[None]:
    """Redirect standard output to standard error, because only frames may be written to the pipe."""
    reply_fd = os.dup(1)
    os.dup2(2, 1)
    yield
    os.dup2(reply_fd, 1)
    os.close(reply_fd)


def serve(
    jobs: Mapping[str, Job],
    *,
    fatal: frozenset[str],
    before_job: Callable[[], None] | None = None,
    max_request: int = frames.MAX_REQUEST_BYTES,
) -> None:
    """Serve jobs until the pipe closes, or a job fails with one of the ``fatal`` kinds and the process must end."""
    while (message := receive(max_request)) is not None:
        if before_job is not None:
            before_job()
        if message.get("job") not in jobs:
            return
        reply = jobs[message["job"]](message)
        is_fatal = bool(reply.get("spent")) or reply.get("kind") in fatal
        send({**reply, "spent": is_fatal})
        if is_fatal:
            return


def receive(max_request: int = frames.MAX_REQUEST_BYTES) -> dict[str, Any] | None:
    """Return the next message from the parent, which is told that it was taken, or None if the pipe is closed."""
    header = _read(frames.HEADER_BYTES)
    if header is None:
        return None
    body = _read(frames.parse_length(header, max_request))
    if body is None:
        return None
    os.write(1, frames.TAKEN)
    return frames.decode(body)


def send(message: dict[str, Any]) -> None:
    data = memoryview(frames.encode(message))
    while data:
        data = data[os.write(1, data) :]


def encode_value(value: object) -> dict[str, Any]:
    """Return the reply with a program's result as JSON text, or with the reason why that is impossible."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        return build_failure("json", str(error))
    if len(text) > MAX_VALUE_BYTES or len(text.encode(errors="replace")) > MAX_VALUE_BYTES:
        return build_failure("output")
    return {"ok": True, "value": text}


def build_failure(kind: str, message: str = "", line: int | None = None) -> dict[str, Any]:
    return {"ok": False, "kind": kind, "message": message[:MAX_MESSAGE], "line": line}


class LimitedOutput(io.StringIO):
    """Collects the printed output of a program up to a limit; the rest is dropped, and the program continues."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._remaining = limit

    def write(self, text: str) -> int:
        part = text[: max(0, self._remaining)]
        self._remaining -= len(part)
        super().write(part)
        return len(text)


def _read(count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = os.read(0, min(count - len(parts), 65536))
        if not part:
            return None
        parts += part
    return bytes(parts)
