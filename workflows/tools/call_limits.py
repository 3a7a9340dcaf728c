"""How long a call of an MCP server may take, as its connection says."""

from dataclasses import dataclass
from typing import Final

from workflows.models.tools.connection import DEFAULT_CALL_SECONDS


PROGRESS_FACTOR: Final = 10  # by which a call may take longer whose server tells how far it is
MAX_TOTAL_SECONDS: Final = 1800.0


@dataclass(frozen=True, slots=True)
class CallLimit:
    """``seconds`` pass without a sign that the server goes on, ``total`` in all."""

    seconds: float
    total: float

    def shorten(self, total: float) -> "CallLimit":
        return CallLimit(min(self.seconds, total), min(self.total, total))


def build_call_limit(seconds: float = DEFAULT_CALL_SECONDS) -> CallLimit:
    return CallLimit(seconds, max(seconds, min(seconds * PROGRESS_FACTOR, MAX_TOTAL_SECONDS)))
