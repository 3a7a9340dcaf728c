"""Run Python programs of workflow authors in the monty interpreter; used in a code runner only.

Monty is an interpreter in a separate process, which offers no files, sockets, environment or functions of the host.
Each program gets a new session, and its result leaves this process as JSON text.
"""

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

from workflows.sandbox.serving import LimitedOutput, build_failure, encode_value
from workflows.sandbox.shims.http import PENDING, REQUESTS, RESPONSES, build_call
from workflows.sandbox.shims.imports import SHIMS, lead_imports_to_shims, list_preludes


_CALLS: Final = {"keywords": "main(**__inputs)", "inputs": "main(__inputs)"}
_SOURCE: Final = "<python-input-{}>"  # monty's name for a source of a session, with its number
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
        installed = [name for name in _CANDIDATES if self._can_import(name)]
        self.modules = tuple(sorted({*installed, *SHIMS}))

    def run(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a message: the result of its program or the failure, and the printed output."""
        printed = LimitedOutput(int(message["stdout_bytes"]))
        source = lead_imports_to_shims(message["source"])
        preludes = [*list_preludes(source)]
        try:
            reply = self._execute(message, [*preludes, source], printed)
        except MontyError as error:
            reply = _describe_failure(error, number=len(preludes))
        return {**reply, "stdout": printed.getvalue()}

    def check(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the reply after compiling a program without executing it: the known modules, or the failure."""
        source = lead_imports_to_shims(message["source"])
        guarded = f"raise KeyError({_CHECKED!r})\n{source}"
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

    def _execute(
        self, message: dict[str, Any], sources: list[str], printed: LimitedOutput
    ) -> dict[str, Any]:
        """Return the reply with the program's result, or with the request that it waits for."""

        def print_text(_stream: str, text: str) -> None:
            printed.write(text)

        with self._open_session(
            seconds=float(message["seconds"]),
            memory=int(message["memory_bytes"]),
            recursion=int(message["recursion"]),
        ) as session:
            call_inputs = {"__inputs": message["inputs"]}
            try:
                for source in sources:
                    responses = {RESPONSES: message.get("responses") or []}
                    inputs = responses if source is REQUESTS else None
                    session.feed_run(source, inputs=inputs, print_callback=print_text)
                call = _CALLS[message["calling"]]
                value = session.feed_run(call, inputs=call_inputs, print_callback=print_text)
            except MontyError:
                if request := _find_request(session, sources):
                    return request
                raise
            return _find_request(session, sources) or encode_value(value)

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


def _find_request(session: Any, sources: list[str]) -> dict[str, Any] | None:
    """Return the reply with the request that a program waits for, if there is one."""
    if REQUESTS not in sources:
        return None
    try:
        call = build_call(session.feed_run(PENDING))
    except MontyError:
        return None
    return None if call is None else {**encode_value(call), "asks": True}


def _describe_failure(error: MontyError, number: int = 0) -> dict[str, Any]:
    """Return the reply for a failure, with the line in the source that was the session's ``number``."""
    if isinstance(error, MontyCrashedError):
        return {**build_failure("crash"), "spent": True}
    frame, exception = _find_frame(error, number), error.exception()
    message, line = str(exception), frame.line if frame else None
    if isinstance(exception, TimeoutError | MemoryError) and _LIMIT.search(message):
        # The state of the interpreter's memory is unknown after this, so it isn't used again.
        kind = "time" if isinstance(exception, TimeoutError) else "memory"
        return {**build_failure(kind, line=line), "spent": True}
    unsupported = _UNSUPPORTED.search(message)
    if isinstance(exception, NotImplementedError) and unsupported:
        return build_failure("unsupported", unsupported[1], line)
    if isinstance(error, MontySyntaxError) or isinstance(exception, SyntaxError):
        return build_failure("syntax", message, line)
    return {**build_failure("raised", message, line), "type": type(exception).__name__}


def _find_frame(error: MontyError, number: int = 0) -> Any:
    """Return the innermost frame of the author's code, or None."""
    frames = error.traceback() if isinstance(error, MontyRuntimeError | MontySyntaxError) else []
    name = _SOURCE.format(number)
    return next((frame for frame in reversed(frames) if frame.filename == name), None)
