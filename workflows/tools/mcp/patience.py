"""Waits for the answer of a server as long as a call may take; its reports of progress extend that."""

import asyncio

from workflows.engine.errors import ToolFailed
from workflows.tools.call_limits import CallLimit


class Patience:
    """The time until which an answer is waited for. ``what`` takes it, and ``note`` says more of the limit in the error."""

    def __init__(self, limit: CallLimit, what: str = "The MCP server", note: str = "") -> None:
        self._limit, self._what, self._note = limit, what, note
        self._end = _read_clock() + limit.total
        self._until = min(_read_clock() + limit.seconds, self._end)

    @property
    def seconds_left(self) -> float:
        return self._until - _read_clock()

    async def note_progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        """Wait on: the server has told how far it is."""
        self._until = min(_read_clock() + self._limit.seconds, self._end)

    def build_fault(self) -> ToolFailed:
        """Return the error of a call that has no answer in time."""
        is_total = self._until >= self._end and self._limit.total > self._limit.seconds
        seconds = self._limit.total if is_total else self._limit.seconds
        message = f"{self._what} took longer than {seconds:g} seconds{self._note}"
        return ToolFailed(message, retryable=True)


def _read_clock() -> float:
    return asyncio.get_running_loop().time()
