"""The rolling summary, which replaces the messages that a conversation has folded.

A model writes it where one is configured. The offline default picks significant sentences and
keeps them within a length, so that a conversation without a model keeps its thread, too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Protocol

from memory.core.recall.tokens import extract_terms
from memory.logic.conversations.messages import Message, Role


# A full stop needs a space after it (3.14, example.com); a Chinese one doesn't. What closes a quotation belongs to it.
_SENTENCE_END = re.compile(r"(?<=[.!?؟۔।॥])[\"'”’»)\]]*\s+|(?<=[。！？…])[”’」』）]*|\n+")

_SPEAKER = {Role.USER: "user", Role.ASSISTANT: "assistant"}
_SENTENCES_PER_MESSAGE = 2
_MAX_SENTENCE_LENGTH = 240
_MIN_TERMS = 4


class Summariser(Protocol):
    """A writer of summaries; its ``name`` is shown with each fold."""

    @property
    def name(self) -> str: ...

    def summarise(self, previous_summary: str, folded: Sequence[Message]) -> str:
        """Return a summary of the previous summary and the messages just folded, which are oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class ExtractiveSummariser:
    """A summariser without a model. It copies sentences, one a line, and drops the least significant beyond the length."""

    name: str = "extractive"
    max_length: int = 2_000  # characters

    def summarise(self, previous_summary: str, folded: Sequence[Message]) -> str:
        lines = [line for line in previous_summary.splitlines() if line.strip()]
        lines += (
            f"- {_SPEAKER[message.role]}: {sentence}"
            for message in folded
            if message.role in _SPEAKER
            for sentence in _pick_sentences(message.content)
        )
        return "\n".join(_fit_lines(lines, self.max_length))


def split_sentences(text: str) -> list[str]:
    """Split a string into sentences, Chinese ones too; a line end also ends a sentence. No character is lost."""
    ends = (match.end() for match in _SENTENCE_END.finditer(text))
    bounds = pairwise([0, *ends, len(text)])
    return [sentence for start, end in bounds if (sentence := text[start:end].strip())]


def _pick_sentences(content: str) -> Iterator[str]:
    """Yield the first few sentences that are more than small talk."""
    sentences = split_sentences(content)
    significant = (text for text in sentences if len(set(extract_terms(text))) >= _MIN_TERMS)
    for sentence in islice(significant, _SENTENCES_PER_MESSAGE):
        yield sentence[:_MAX_SENTENCE_LENGTH]


def _fit_lines(lines: list[str], max_length: int) -> list[str]:
    """Drop repeated lines, then the least significant lines for their length, until the rest fits."""
    distinct = list(dict.fromkeys(lines))
    length = sum(len(line) + 1 for line in distinct)
    dropped = set()
    ratings = map(_rate_line, distinct)
    for _, position in sorted(zip(ratings, range(len(distinct)), strict=True)):
        if length <= max_length + 1:
            break
        dropped.add(position)
        length -= len(distinct[position]) + 1
    return [line for position, line in enumerate(distinct) if position not in dropped]


def _rate_line(line: str) -> int:
    return len(set(extract_terms(line))) + (5 if any(map(str.isdigit, line)) else 0)
