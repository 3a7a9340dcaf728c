"""The code back-end that needs only its package: monty interpreters in the runner pool.

A reply comes from a process that ran untrusted code, so it is rejected unless it is valid JSON.
"""

import json
import re
import time
from collections.abc import Mapping
from typing import Any, Final

from workflows.engine.language.document import Json
from workflows.sandbox.code import MODULES, SENTENCES, Calling, CodeLimits, CodeOutcome
from workflows.sandbox.pool import RunnerGone, RunnerLate, RunnerPool


_GRACE_SECONDS: Final = 1.0  # for the time that the interpreter doesn't measure
_MAX_TEXT: Final = 600
_MAX_VALUE: Final = 1_100_000
_NO_MODULE: Final = re.compile(r"No module named '([\w.]{1,80})'")
_NO_MAIN: Final = "name 'main' is not defined"


class MontyRunner:
    """Implements ``code.CodeRunner``. It can be used from any event loop; ``close()`` ends its processes."""

    def __init__(self, pool: RunnerPool | None = None) -> None:
        self.pool = pool or RunnerPool(program="code_child")

    async def run(
        self,
        source: str,
        inputs: Mapping[str, Json],
        limits: CodeLimits,
        *,
        calling: Calling = "keywords",
    ) -> CodeOutcome:
        began = time.monotonic()
        message: dict[str, Any] = {
            "job": "code",
            "source": _make_storable(source),
            "inputs": dict(inputs),
            "calling": calling,
            "seconds": limits.seconds,
            "memory_bytes": limits.memory_bytes,
            "recursion": limits.recursion,
            "stdout_bytes": limits.stdout_bytes,
        }
        outcome = await self._execute(message, limits)
        elapsed = time.monotonic() - began
        return CodeOutcome(
            outcome.ok,
            outcome.value,
            outcome.stdout,
            outcome.error,
            outcome.line,
            elapsed,
            outcome.retryable,
        )

    def close(self) -> None:
        self.pool.close()

    async def _execute(self, message: dict[str, Any], limits: CodeLimits) -> CodeOutcome:
        try:
            json.dumps(message["inputs"], allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return _build_failure("foreign", limits)
        try:
            reply = await self.pool.call(message, seconds=limits.seconds + _GRACE_SECONDS)
        except RunnerLate:
            return _build_failure("time", limits)
        except RunnerGone:
            return _build_failure("crash", limits, retryable=True)
        except ValueError:
            return _build_failure("inputs", limits)
        return _parse_reply(reply, limits)


def _parse_reply(reply: Mapping[str, Any], limits: CodeLimits) -> CodeOutcome:
    stdout = reply.get("stdout")
    printed = _make_storable(stdout[: limits.stdout_bytes]) if isinstance(stdout, str) else ""
    text = reply.get("value")
    if reply.get("ok") is True and isinstance(text, str):
        return _parse_value(text, printed, limits)
    kind = reply.get("kind")
    line = reply.get("line")
    return _build_failure(
        kind if isinstance(kind, str) and kind in SENTENCES else "crash",
        limits,
        message=_clean_text(reply.get("message")),
        type_=_clean_text(reply.get("type")) or "Error",
        line=line if isinstance(line, int) and not isinstance(line, bool) else None,
        stdout=printed,
    )


def _parse_value(text: str, printed: str, limits: CodeLimits) -> CodeOutcome:
    if len(text) > _MAX_VALUE:
        return _build_failure("output", limits, stdout=printed)
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _build_failure("json", limits, message="it can't be read", stdout=printed)
    return CodeOutcome(True, value, printed)


def _build_failure(
    kind: str,
    limits: CodeLimits,
    *,
    message: str = "",
    type_: str = "",
    line: int | None = None,
    stdout: str = "",
    retryable: bool = False,
) -> CodeOutcome:
    sentence = _get_sentence(kind, message).format(
        message=message,
        type=type_,
        seconds=limits.seconds,
        megabytes=limits.memory_bytes // (1024 * 1024),
        module=module.group(1) if (module := _NO_MODULE.search(message)) else "",
        modules=", ".join(MODULES),
    )
    where = f"Line {line}: " if line is not None else ""
    return CodeOutcome(False, stdout=stdout, error=where + sentence, line=line, retryable=retryable)


def _get_sentence(kind: str, message: str) -> str:
    if kind == "raised" and _NO_MODULE.search(message):
        return SENTENCES["module"]
    if kind == "raised" and message == _NO_MAIN:
        return SENTENCES["main"]
    return SENTENCES[kind]


def _clean_text(value: object) -> str:
    return _make_storable(value[:_MAX_TEXT]) if isinstance(value, str) else ""


def _make_storable(text: str) -> str:
    """Replace NUL and lone surrogates, which no later stage can store."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _refuse(name: str) -> Json:
    raise ValueError(name)
