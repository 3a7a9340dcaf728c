"""The loop of every runner process: read a frame, do the job, write a frame, until the pipe closes.

It uses the standard library only: no Django, no settings, no database, an empty environment.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from workflows.sandbox import frames


Job = Callable[[dict[str, Any]], dict[str, Any]]


def serve(
    jobs: Mapping[str, Job], *, fatal: frozenset[str], before_job: Callable[[], None] | None = None
) -> None:
    """Serve jobs until the pipe closes or a job fails with one of the ``fatal`` kinds; the parent then starts a new process."""
    while (message := receive()) is not None:
        if before_job is not None:
            before_job()
        if message.get("job") not in jobs:
            return
        reply = jobs[message["job"]](message)
        is_fatal = bool(reply.get("spent")) or reply.get("kind") in fatal
        send({**reply, "spent": is_fatal})
        if is_fatal:
            return


def receive() -> dict[str, Any] | None:
    header = _read(frames.HEADER_BYTES)
    if header is None:
        return None
    body = _read(frames.parse_length(header, frames.MAX_REQUEST_BYTES))
    return None if body is None else frames.decode(body)


def send(message: dict[str, Any]) -> None:
    data = memoryview(frames.encode(message))
    while data:
        data = data[os.write(1, data) :]


def _read(count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = os.read(0, min(count - len(parts), 65536))
        if not part:
            return None
        parts += part
    return bytes(parts)
