"""Decides which of a model's text users see while it is written: that of the agent's last answer.

Only the end of a model's message tells whether it calls tools, so short texts wait for it. A longer text is taken as
the answer and streamed; if tools are called after it, the next text starts in a new paragraph.
"""

from collections.abc import Callable
from typing import Final, Protocol


# A model that explains its next call seldom needs more characters.
HOLD: Final = 240

Emit = Callable[[str], None]


class AnswerStream(Protocol):
    """Receives the pieces of one message of a model."""

    def add(self, piece: str) -> None: ...

    def end(self, *, is_answer: bool) -> None:
        """End the message, which is the agent's answer or not."""
        ...


class HoldingStream:
    """Holds the text back until it is long, or its message has ended."""

    def __init__(self, emit: Emit, hold: int = HOLD) -> None:
        self._emit, self._hold = emit, hold
        self._pieces: list[str] = []
        self._length = 0
        self._is_open = hold == 0

    def add(self, piece: str) -> None:
        if self._is_open:
            self._emit(piece)
            return
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length > self._hold:
            self._release()

    def end(self, *, is_answer: bool) -> None:
        if is_answer:
            self._release()
        elif self._is_open and self._hold:
            self._emit("\n\n")

    def _release(self) -> None:
        self._is_open = True
        for piece in self._pieces:
            self._emit(piece)
        self._pieces.clear()


class SilentStream:
    """Shows users nothing of a message."""

    def add(self, piece: str) -> None:
        pass

    def end(self, *, is_answer: bool) -> None:
        pass
