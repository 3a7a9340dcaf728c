"""Run a workflow author's Python program in the monty interpreter; used in a code runner only.

Monty is a separate interpreter in its own process, without files, sockets, environment or host
functions to offer. A program gets a new session; its result leaves this process as JSON text.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

from pydantic_monty import (
    CollectStreams,
    Monty,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
    ResourceLimits,
)


MAX_VALUE_BYTES: Final = 1_000_000
_MAX_MESSAGE: Final = 600
_CALLS: Final = {"keywords": "main(**__inputs)", "inputs": "main(__inputs)"}
_SOURCE: Final = "<python-input-0>"  # monty's name for the first source of a session
_CHECKED: Final = "only checked"
_UNSUPPORTED: Final = re.compile(r"does not yet support (?:the )?(.+)$", re.DOTALL)
_LIMIT: Final = re.compile(r"(?:time|memory) limit exceeded")

# The modules that a program may import. They are tried once, because the interpreter can't list them.
_CANDIDATES: Final = (
    *("asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses"),
    *("datetime", "decimal", "enum", "fractions", "functools", "hashlib", "heapq", "html", "io"),
    *("itertools", "json", "math", "operator", "os", "pathlib", "random", "re", "statistics"),
    *("string", "struct", "sys", "textwrap", "time", "typing", "unicodedata", "urllib", "uuid"),
)


class Interpreter:
    """One warm monty process. If a program breaks it, the whole runner is replaced."""

    def __init__(self, program: Path) -> None:
        self._pool = Monty(binary_path=program, min_processes=1, max_processes=1)
        self._pool.__enter__()
        self.modules = tuple(name for name in _CANDIDATES if self._can_import(name))

    def run(self, message: dict[str, Any]) -> dict[str, Any]:
        printed = _LimitedOutput(int(message["stdout_bytes"]))
        try:
            value = self._execute(message, printed)
        except MontyError as error:
            return {**_describe_failure(error), "stdout": printed.get_text()}
        return {**_encode_value(value), "stdout": printed.get_text()}

    def check(self, message: dict[str, Any]) -> dict[str, Any]:
        """Parse and compile a program without executing any line of it."""
        guarded = f"raise KeyError({_CHECKED!r})\n{message['source']}"
        try:
            with self._open_session(seconds=2.0, memory=64 * 1024 * 1024, recursion=200) as session:
                session.feed_run(guarded, print_callback=CollectStreams(max_bytes=1024))
        except MontyError as error:
            if isinstance(error, MontyRuntimeError) and _CHECKED in str(error):
                return {"ok": True, "modules": self.modules}
            failure = _describe_failure(error)
            frame = _find_frame(error)
            line = max(1, failure["line"] - 1) if failure["line"] else 1
            return {**failure, "line": line, "column": frame.column if frame else 1}
        return {"ok": True, "modules": self.modules}

    def _execute(self, message: dict[str, Any], printed: "_LimitedOutput") -> object:
        with self._open_session(
            seconds=float(message["seconds"]),
            memory=int(message["memory_bytes"]),
            recursion=int(message["recursion"]),
        ) as session:
            session.feed_run(message["source"], print_callback=printed)
            return session.feed_run(
                _CALLS[message["calling"]],
                inputs={"__inputs": message["inputs"]},
                print_callback=printed,
            )

    def _open_session(self, *, seconds: float, memory: int, recursion: int) -> Any:
        limits = ResourceLimits(
            max_feed_duration_secs=seconds,
            max_memory=memory,
            max_recursion_depth=recursion,
            max_suspensions=1000,
            max_total_sleep_secs=0,
        )
        return self._pool.checkout(limits=limits, type_check=False, os_policy={"sleep": "zero"})

    def _can_import(self, module: str) -> bool:
        try:
            with self._pool.checkout() as session:
                session.feed_run(f"import {module}")
        except MontyError:
            return False
        return True


class _LimitedOutput:
    """Collects the printed output of a program up to a limit; the rest is dropped, and the program continues."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._parts: list[str] = []

    def __call__(self, _stream: str, text: str) -> None:
        if self._left > 0:
            part = text[: self._left]
            self._left -= len(part)
            self._parts.append(part)

    def get_text(self) -> str:
        return "".join(self._parts)


def _encode_value(value: object) -> dict[str, Any]:
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        return {"ok": False, "kind": "json", "message": str(error)[:_MAX_MESSAGE], "line": None}
    if len(text) > MAX_VALUE_BYTES or len(text.encode(errors="replace")) > MAX_VALUE_BYTES:
        return {"ok": False, "kind": "output", "message": "", "line": None}
    return {"ok": True, "value": text}


def _describe_failure(error: MontyError) -> dict[str, Any]:
    if isinstance(error, MontyCrashedError):
        return {"ok": False, "kind": "crash", "message": "", "line": None, "spent": True}
    frame = _find_frame(error)
    inner = error.exception()
    message, kind = str(inner), type(inner).__name__
    failure = {"ok": False, "line": frame.line if frame else None, "spent": False}
    if isinstance(inner, TimeoutError | MemoryError) and _LIMIT.search(message):
        # The state of the interpreter's memory is unknown after this, so it isn't used again.
        return {**failure, "kind": "time" if isinstance(inner, TimeoutError) else "memory",
                "message": "", "spent": True}  # fmt: skip
    unsupported = _UNSUPPORTED.search(message)
    if isinstance(inner, NotImplementedError) and unsupported:
        return {**failure, "kind": "unsupported", "message": unsupported[1][:_MAX_MESSAGE]}
    if isinstance(error, MontySyntaxError) or isinstance(inner, SyntaxError):
        return {**failure, "kind": "syntax", "message": message[:_MAX_MESSAGE]}
    return {**failure, "kind": "raised", "type": kind, "message": message[:_MAX_MESSAGE]}


def _find_frame(error: MontyError) -> Any:
    """Return the innermost frame of the author's own code."""
    frames = error.traceback() if isinstance(error, MontyRuntimeError | MontySyntaxError) else []
    return next((frame for frame in reversed(frames) if frame.filename == _SOURCE), None)
