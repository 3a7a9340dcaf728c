"""The default code back-end: monty interpreters in the runner pool, which only need a Python package.

A reply comes from a process that ran untrusted code, so it is rejected unless it is valid JSON.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from workflows.engine.language.document import Json
from workflows.sandbox.code import MODULES, SENTENCES, Calling, CodeLimits, CodeOutcome
from workflows.sandbox.frames import make_storable
from workflows.sandbox.pool import RunnerGone, RunnerLate, RunnerPool


GRACE_SECONDS: Final = 1.0  # for the time that the interpreter doesn't measure
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
        responses: Sequence[Json] = (),
    ) -> CodeOutcome:
        message: dict[str, Any] = {
            "job": "code",
            "source": make_storable(source),
            "inputs": dict(inputs),
            "calling": calling,
            "responses": list(responses),
            **asdict(limits),
        }
        return await self._execute(message, limits)

    def close(self) -> None:
        self.pool.close()

    async def _execute(self, message: dict[str, Any], limits: CodeLimits) -> CodeOutcome:
        try:
            json.dumps(message["inputs"], allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return _build_failure("foreign", limits)
        try:
            reply = await self.pool.call(message, seconds=limits.seconds + GRACE_SECONDS)
        except RunnerLate:
            return _build_failure("time", limits)
        except RunnerGone:
            return _build_failure("crash", limits, retryable=True)
        except ValueError:
            return _build_failure("inputs", limits)
        return _parse_reply(reply, limits)


def _parse_reply(reply: Mapping[str, Any], limits: CodeLimits) -> CodeOutcome:
    stdout = reply.get("stdout")
    printed = make_storable(stdout[: limits.stdout_bytes]) if isinstance(stdout, str) else ""
    text = reply.get("value")
    if reply.get("ok") is True and isinstance(text, str):
        outcome = _parse_value(text, printed, limits)
        if reply.get("asks") is True and outcome.ok:
            return _parse_call(outcome, limits)
        return outcome
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


def _parse_call(outcome: CodeOutcome, limits: CodeLimits) -> CodeOutcome:
    if not isinstance(outcome.value, dict):
        return _build_failure("crash", limits)
    return replace(outcome, value=None, call=outcome.value)


def _parse_value(text: str, printed: str, limits: CodeLimits) -> CodeOutcome:
    if len(text) > _MAX_VALUE:
        return _build_failure("output", limits, stdout=printed)
    try:
        value = json.loads(text, parse_constant=_reject_constant)
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
    """Return the outcome of a failed program, with the message for the kind of failure."""
    module = _NO_MODULE.search(message)
    if kind == "raised" and module:
        kind = "module"
    elif kind == "raised" and message == _NO_MAIN:
        kind = "main"
    sentence = SENTENCES[kind].format(
        message=message,
        type=type_,
        seconds=limits.seconds,
        megabytes=limits.memory_bytes // (1024 * 1024),
        module=module[1] if module else "",
        modules=", ".join(MODULES),
    )
    location = f"Line {line}: " if line is not None else ""
    return CodeOutcome(False, stdout=stdout, error=location + sentence, retryable=retryable)


def _clean_text(value: object) -> str:
    return make_storable(value[:_MAX_TEXT]) if isinstance(value, str) else ""


def _reject_constant(name: str) -> Json:
    raise ValueError(name)
