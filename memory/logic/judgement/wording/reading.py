"""Read a message in its context: its sentences, of which each can be understood and judged alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memory.core.records import Json
from memory.logic.judgement.clauses import (
    MAX_LENGTH,
    remove_introduction,
    split_sentences,
)
from memory.logic.judgement.wording.corrections import apply_corrections
from memory.logic.judgement.wording.quotations import leave_out_played
from memory.logic.judgement.wording.subjects import name_subjects


# What stands where a secret was removed (``memory.logic.entries.secrets``).
_REMOVED_SECRET: Final = re.compile(r"\[redacted: [^\]\n]*\]")
_REDACTED: Final = "[redacted]"  # the same without a sign at which a sentence could be split


@dataclass(frozen=True, slots=True)
class PrecedingTurn:
    """A turn of the conversation before the message: what the person wrote, and what the assistant answered."""

    person: str
    assistant: str = ""


def parse_turns(turns: Sequence[Mapping[str, Json]]) -> tuple[PrecedingTurn, ...]:
    return tuple(
        PrecedingTurn(str(turn.get("person") or ""), str(turn.get("assistant") or ""))
        for turn in turns
    )


def read_sentences(message: str, turns: Sequence[PrecedingTurn] = ()) -> list[str]:
    """Return the sentences that the person means: corrected, and with the names of those they are about.

    ``turns`` are the latest ones before the message, the oldest first.
    """
    earlier_sentences = [text for turn in turns for text in _list_sentences(turn.person)]
    sentences = leave_out_played(_list_sentences(message))
    corrected = apply_corrections(sentences, earlier_sentences[-1] if earlier_sentences else "")
    texts = name_subjects(corrected, earlier_sentences)
    return [text for text in texts if len(text) <= MAX_LENGTH]


def is_redacted(text: str) -> bool:
    """Return whether a secret was removed from the text, which says nothing without it."""
    return _REDACTED in text


def _list_sentences(text: str) -> list[str]:
    plain = _REMOVED_SECRET.sub(_REDACTED, text)
    sentences = map(remove_introduction, split_sentences(plain))
    return [sentence for sentence in sentences if len(sentence) <= MAX_LENGTH]
