"""The rolling summary: what stands in for the messages a conversation has folded.

A model writes it where one is configured. The offline default picks sentences that say something
and keeps them within a length, so that a conversation without a model keeps its thread, too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.core.recall.tokens import terms
from memory.logic.conversations.messages import Message, Role


class Summariser(Protocol):
    """``name`` is what a reader of the fold sees."""

    @property
    def name(self) -> str: ...

    def summarise(self, before: str, folded: Sequence[Message]) -> str:
        """One text for both: the summary so far, and what was folded just now, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class ExtractiveSummariser:
    """Sentences as they were said, one a line; the least telling ones make room."""

    name: str = "extractive"
    longest: int = 2_000  # characters

    def summarise(self, before: str, folded: Sequence[Message]) -> str:
        lines = [line for line in before.splitlines() if line.strip()]
        lines += (
            f"- {_SPEAKER[message.role]}: {sentence}"
            for message in folded
            if message.role in _SPEAKER
            for sentence in _telling(message.content)
        )
        return "\n".join(_within(lines, self.longest))


def sentences(text: str) -> list[str]:
    """Also Chinese ones; a line is a sentence even without a full stop."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


# After a full stop there must be a space (3.14, example.com); after a Chinese one nothing need be.
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[。!?…])|\n+")

_SPEAKER = {Role.USER: "user", Role.ASSISTANT: "assistant"}
_SENTENCES_A_MESSAGE = 2
_LONGEST_SENTENCE = 240


def _telling(content: str) -> Iterator[str]:
    """The first few sentences with more than small talk in them, in their order."""
    found = (one for one in sentences(content) if len(set(terms(one))) >= _FEWEST_TERMS)
    for _, sentence in zip(range(_SENTENCES_A_MESSAGE), found, strict=False):
        yield sentence[:_LONGEST_SENTENCE]


_FEWEST_TERMS = 4


def _within(lines: list[str], longest: int) -> list[str]:
    """Repeats go first, then what says least for its place; of equals the older."""
    kept = list(dict.fromkeys(lines))
    length = sum(len(line) + 1 for line in kept)
    leaving = set()
    for position in sorted(range(len(kept)), key=lambda at: (_weight(kept[at]), at)):
        if length <= longest + 1:
            break
        leaving.add(position)
        length -= len(kept[position]) + 1
    return [line for position, line in enumerate(kept) if position not in leaving]


def _weight(line: str) -> int:
    digits = any(character.isdigit() for character in line)
    return len(set(terms(line))) + (5 if digits else 0)
