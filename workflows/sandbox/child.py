"""The program of a runner process: read a frame, do the job, write a frame, until the pipe closes.

Standard library and jinja2 only; no Django, no settings, no database, an empty environment.
"""

import gc
import os
import sys
from collections.abc import Callable
from typing import Any

from workflows.sandbox import frames, rendering, walls


_JOBS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"template": rendering.render}

# After one of these the heap is not what it was; the parent starts a new process.
_SPENT = frozenset({"memory", "recursion"})


def main() -> None:
    # Nothing a template makes may write to the pipe by way of print or a warning.
    reply_to = os.dup(1)
    os.dup2(2, 1)
    rendering.render(
        {"template": "{{ x|tojson }}{% for i in [1] %}{{ i }}{% endfor %}", "inputs": {}}
    )
    sys.path.clear()
    os.dup2(reply_to, 1)
    os.close(reply_to)
    standing = walls.raise_walls()
    _send({"ok": True, "walls": standing})
    while (message := _receive()) is not None:
        walls.allow_cpu_seconds()
        if message.get("job") not in _JOBS:
            return
        reply = _JOBS[message["job"]](message)
        spent = reply.get("kind") in _SPENT
        _send({**reply, "spent": spent})
        if spent:
            return
        gc.collect(0)


def _receive() -> dict[str, Any] | None:
    header = _read(frames.HEADER_BYTES)
    if header is None:
        return None
    body = _read(frames.body_length(header, frames.MAX_REQUEST_BYTES))
    return None if body is None else frames.decode(body)


def _read(count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = os.read(0, min(count - len(parts), 65536))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _send(message: dict[str, Any]) -> None:
    data = memoryview(frames.encode(message))
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
