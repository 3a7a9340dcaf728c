"""How many questions find nothing, by the least score that a result needs: those that nothing answers should.

Two kinds of questions are answered by nothing: those without evidence, which some sets have, and those of another
namespace of the same set, which ask about other people and other things.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.retrieval_sets import Answer, Namespace


Ask = Callable[[str], tuple[Sequence[str], float]]

# The first is what recall returns unless a caller asks for more.
FLOORS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


@dataclass(frozen=True)
class Refusals:
    """The shares of questions that find nothing, for each of the ``FLOORS``; None if there are no such questions."""

    answerable: Sequence[float]
    unanswerable: Sequence[float] | None
    foreign: Sequence[float] | None


def ask_foreign_questions(asks: Sequence[tuple[Namespace, Ask]]) -> list[Answer]:
    """Ask the held-out questions of each namespace in the next one, the last one's in the first."""
    if len(asks) < 2:
        return []
    answers = []
    for (namespace, _), (_, ask) in pairwise([*asks, asks[0]]):
        held_out = (question for question in namespace.questions if question.is_held_out)
        answers += [Answer(question, *ask(question.text)) for question in held_out]
    return answers


def compute_refusals(answers: Sequence[Answer], foreign_answers: Sequence[Answer]) -> Refusals:
    held_out = [answer for answer in answers if answer.question.is_held_out]
    return Refusals(
        _compute_shares([answer for answer in held_out if answer.question.evidence]) or (),
        _compute_shares([answer for answer in answers if not answer.question.evidence]),
        _compute_shares(foreign_answers),
    )


def print_refusals(refusals: Refusals) -> None:
    sys.stdout.write(f"{'finds nothing, from':24}{''.join(f'{floor:8.1f}' for floor in FLOORS)}\n")
    rows = {
        "answerable": refusals.answerable,
        "unanswerable": refusals.unanswerable,
        "of another namespace": refusals.foreign,
    }
    for title, shares in rows.items():
        if shares is not None:
            sys.stdout.write(f"{title:24}{''.join(f'{share:8.3f}' for share in shares)}\n")


def _compute_shares(answers: Sequence[Answer]) -> Sequence[float] | None:
    if not answers:
        return None
    return [sum(map(_is_refused(floor), answers)) / len(answers) for floor in FLOORS]


def _is_refused(floor: float) -> Callable[[Answer], bool]:
    return lambda answer: not answer.keys or answer.best_score < floor
