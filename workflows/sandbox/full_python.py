"""The code back-end for full Python, available only where bubblewrap works.

Each program gets a separate process, which is never used again. The next process is started in the background.
"""

import asyncio
import contextlib
from typing import Any

from workflows.sandbox.code import CodeLimits, CodeOutcome
from workflows.sandbox.javascript.runner import LANGUAGE as JAVASCRIPT
from workflows.sandbox.javascript.runner import is_available
from workflows.sandbox.monty import MontyRunner
from workflows.sandbox.pool import RunnerGone, RunnerLate, RunnerPool
from workflows.sandbox.process import is_jailed


LANGUAGE = "python-full"
_MISSING = "Full Python needs bubblewrap, which is not available here: select Python 3"


class FullPython(MontyRunner):
    """Implements ``code.CodeRunner``; the protocol of its processes is the same as monty's."""

    def __init__(self, pool: RunnerPool | None = None) -> None:
        super().__init__(pool or RunnerPool(4, program="full_child"))
        self._starting: set[asyncio.Task[None]] = set()

    async def _execute(self, message: dict[str, Any], limits: CodeLimits) -> CodeOutcome:
        if not is_jailed():
            return CodeOutcome(False, error=_MISSING)
        outcome = await super()._execute(message, limits)
        task = asyncio.create_task(self._start_next())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        return outcome

    async def _start_next(self) -> None:
        with contextlib.suppress(RunnerGone, RunnerLate, OSError, RuntimeError):
            await self.pool.warm()


def list_languages() -> list[tuple[str, str]]:
    """Return value and label of the languages beyond the default that this machine can run."""
    full = [(LANGUAGE, "Python 3 (full)")] if is_jailed() else []
    return [*full, (JAVASCRIPT, "JavaScript")] if is_available() else full
