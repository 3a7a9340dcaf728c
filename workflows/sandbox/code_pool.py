"""The engine's ``CodePort``: it selects the back-end that runs a language."""

from collections.abc import Mapping
from typing import Final

from django.conf import settings

from workflows.engine.errors import CodeFailed
from workflows.engine.ports import CodeRequest, CodeResult
from workflows.sandbox.code import CodeLimits, CodeRunner
from workflows.sandbox.full_python import LANGUAGE as FULL
from workflows.sandbox.full_python import FullPython
from workflows.sandbox.javascript.runner import LANGUAGE as JAVASCRIPT
from workflows.sandbox.javascript.runner import JavaScript
from workflows.sandbox.monty import MontyRunner


PYTHON: Final = "python3"
MAX_SOURCE_BYTES: Final = 256 * 1024
MAX_SECONDS: Final = 60.0
_OUTPUT_WITH_ERROR: Final = 300
_NO_HTTP: Final = (
    "Requests of code are off on this installation (CODE_HTTP): use an HTTP request node instead"
)


class CodePool:
    """Runs programs in the back-end of their language, whose processes start on first use; ``close()`` ends them."""

    def __init__(self, runners: Mapping[str, CodeRunner] | None = None) -> None:
        self._runners = dict(runners or build_runners())

    async def run(self, request: CodeRequest) -> CodeResult:
        """Run a program. Raises CodeFailed with a message for the author of the code."""
        runner = self._runners.get(request.language)
        if runner is None:
            raise CodeFailed(f"{request.language} code is not supported")
        if len(request.source.encode("utf-8", "surrogatepass")) > MAX_SOURCE_BYTES:
            raise CodeFailed("The code is larger than 256 kB")
        limits = CodeLimits(seconds=min(request.timeout_seconds, MAX_SECONDS))
        outcome = await runner.run(
            request.source,
            request.inputs,
            limits,
            calling=request.calling,
            responses=request.responses,
        )
        if not outcome.ok:
            raise CodeFailed(
                _append_output(outcome.error, outcome.stdout), retryable=outcome.retryable
            )
        if outcome.call is not None and not settings.CODE_HTTP:
            raise CodeFailed(_NO_HTTP)
        return CodeResult(outcome.value, outcome.stdout, outcome.call)

    def close(self) -> None:
        for runner in self._runners.values():
            runner.close()


def build_runners() -> dict[str, CodeRunner]:
    """Return the back-end of each language. ``python3`` is full Python if the installation's setting says so."""
    full = FullPython()
    python = full if settings.CODE_FULL_PYTHON else MontyRunner()
    return {PYTHON: python, FULL: full, JAVASCRIPT: JavaScript()}


def _append_output(error: str, printed: str) -> str:
    """Append the end of the printed output, which often explains the failure."""
    tail = printed.strip()[-_OUTPUT_WITH_ERROR:]
    return f"{error}\nPrinted before: {tail}" if tail else error
