"""What a back-end for code nodes offers. The first one (pydantic-monty) comes with the code node."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from workflows.engine.document import Json


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """Every limit is explicit at every call; a back-end may be stricter, never laxer."""

    seconds: float = 10.0
    memory_bytes: int = 256 * 1024 * 1024
    recursion: int = 500
    stdout_bytes: int = 256 * 1024


@dataclass(frozen=True, slots=True)
class CodeOutcome:
    """Comes from hostile code: ``value`` is JSON, and nothing else about it is believed."""

    ok: bool
    value: Json = None
    stdout: str = ""
    error: str = ""
    elapsed: float = 0.0


class CodeRunner(Protocol):
    async def run(
        self, source: str, inputs: Mapping[str, Json], limits: CodeLimits
    ) -> CodeOutcome: ...
