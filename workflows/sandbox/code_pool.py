"""The engine's ``CodePort``: it selects the back-end that runs a language."""

from collections.abc import Mapping
from typing import Final

from workflows.engine.errors import CodeFailed
from workflows.engine.ports import CodeRequest, CodeResult
from workflows.sandbox.code import CodeLimits, CodeRunner
from workflows.sandbox.full_python import LANGUAGE, FullPython
from workflows.sandbox.monty import MontyRunner


MAX_SOURCE_BYTES: Final = 256 * 1024
MAX_SECONDS: Final = 60.0
_OUTPUT_WITH_ERROR: Final = 300


class CodePool:
    """Runs programs in the back-end of their language, whose processes start on first use; ``close()`` ends them."""

    def __init__(self, runners: Mapping[str, CodeRunner] | None = None) -> None:
        self._runners = dict(runners or {"python3": MontyRunner(), LANGUAGE: FullPython()})

    async def run(self, request: CodeRequest) -> CodeResult:
        """Run a program. Raises CodeFailed with a message for the author of the code."""
        runner = self._runners.get(request.language)
        if runner is None:
            raise CodeFailed(f"{request.language} code is not supported")
        if len(request.source.encode("utf-8", "surrogatepass")) > MAX_SOURCE_BYTES:
            raise CodeFailed("The code is larger than 256 kB")
        limits = CodeLimits(seconds=min(request.timeout_seconds, MAX_SECONDS))
        outcome = await runner.run(request.source, request.inputs, limits, calling=request.calling)
        if not outcome.ok:
            raise CodeFailed(
                _append_output(outcome.error, outcome.stdout), retryable=outcome.retryable
            )
        return CodeResult(outcome.value, outcome.stdout)

    def close(self) -> None:
        for runner in self._runners.values():
            runner.close()


def _append_output(error: str, printed: str) -> str:
    """Append the end of the printed output, which often explains the failure."""
    tail = printed.strip()[-_OUTPUT_WITH_ERROR:]
    return f"{error}\nPrinted before: {tail}" if tail else error
