"""Recognize a message that takes back what was said last without a word for forgetting: "Scratch that"."""

from collections.abc import Sequence
from typing import Final

from memory.logic.judgement.clauses import remove_introduction, split_sentences
from memory.logic.judgement.labels import Kind
from memory.logic.judgement.likeness import compute_cosine
from memory.logic.judgement.turns import Clause


# Who says something that near to one of these takes back what was said last, in any language …
TAKEN_BACK: Final = (
    "Scratch that.",
    "Actually, scratch that last thing.",
    "Ignore what I just said.",
    "I take that back.",
    "Das nehme ich zurück.",
    "Vergiss, was ich gerade gesagt habe.",
    "Oublie ce que je viens de dire.",
    "Retiro lo que dije.",
    "Забудь, что я сказал.",
    "تجاهل ما قلته للتو.",
    "刚才说的不算。",
    "今言ったことは無しで。",
    "방금 한 말은 취소할게.",
)
# … unless it is nearer to one of these.
NOT_TAKEN_BACK: Final = (
    "I didn't say that.",
    "I told you that already.",
    "What did I just say?",
    "That's not what I meant.",
    "Ok, got it.",
    "Stop talking.",
    "Scratch my back.",
    "Skip it.",
)
MIN_LATEST: Final = 0.7  # probability that it means what was said last
MIN_NEARNESS: Final = 0.6  # cosine
MAX_LENGTH: Final = 80  # characters of the message
_NEVER: Final = frozenset({Kind.QUESTION, Kind.THANKS, Kind.GREETING, Kind.CODE})


def find_short_message(message: str) -> str:
    """Return the sentence that the message consists of, or an empty text if it says more."""
    sentences = split_sentences(message) if len(message) <= MAX_LENGTH else []
    return remove_introduction(sentences[0]) if len(sentences) == 1 else ""


def may_take_back(clause: Clause) -> bool:
    """Return whether it is worth while to compare the message with the examples."""
    return clause.latest >= MIN_LATEST and clause.kind not in _NEVER and not clause.is_forget


def takes_back(
    clause: Clause, examples: Sequence[Clause], counterexamples: Sequence[Clause]
) -> bool:
    """Return whether the message is near to the judged examples, and not nearer to the others."""
    nearest, other = (
        max(compute_cosine(clause.vector, each.vector) for each in group)
        for group in (examples, counterexamples)
    )
    return nearest >= MIN_NEARNESS and nearest > other
