"""The code back-end for JavaScript: the QuickJS engine in runners of its own.

It is there if the engine's package is installed and the machine has the filter of system calls that its runners need.
"""

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Final

from workflows.engine.language.document import Json
from workflows.sandbox.code import Calling, CodeLimits, CodeOutcome
from workflows.sandbox.monty import MontyRunner
from workflows.sandbox.pool import RunnerPool
from workflows.sandbox.process import is_jailed


LANGUAGE: Final = "javascript"
_MISSING: Final = "JavaScript can't be run on this machine: rewrite the code in Python"


class JavaScript(MontyRunner):
    """Implements ``code.CodeRunner``; the protocol of its processes is the same as monty's."""

    def __init__(self, pool: RunnerPool | None = None) -> None:
        super().__init__(pool or RunnerPool(program="javascript.child"))

    async def run(
        self,
        source: str,
        inputs: Mapping[str, Json],
        limits: CodeLimits,
        *,
        calling: Calling = "keywords",
        responses: Sequence[Json] = (),
    ) -> CodeOutcome:
        if not is_available():
            return CodeOutcome(False, error=_MISSING)
        return await super().run(source, inputs, limits, calling=calling, responses=responses)


def is_available() -> bool:
    return is_jailed() and _has_engine()


@functools.cache
def _has_engine() -> bool:
    return importlib.util.find_spec("quickjs") is not None
