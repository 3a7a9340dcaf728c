"""Which texts are encoded: each takes milliseconds, so none that a turn can do without."""

from collections.abc import Sequence

import pytest

from memory.embedding import encoder
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.operations import KnownFact
from memory.logic.judgement.probes import Floats, load_probes


class CountingJudge(Judge):
    """It notes the texts that it encodes."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        super().__init__(self._note, load_probes())

    def _note(self, new_texts: Sequence[str]) -> Floats:
        self.texts.extend(new_texts)
        return encoder.encode(new_texts)


def test_text_that_was_judged_lately_is_not_judged_again() -> None:
    judge = CountingJudge()

    first, second = judge.judge_texts(["I live in Lyon.", "I live in Lyon."])
    (third,) = judge.judge_message("I live in Lyon.")

    assert first is second is third
    assert judge.texts == ["I live in Lyon."]


@pytest.mark.parametrize(
    ("message", "is_compared"),
    [
        ("I play the violin.", False),
        ("I live in Lyon.", True),
        ("I sold my bicycle.", True),
        ("My favourite film is Vertigo.", True),
        ("Please forget that I play the violin.", True),
    ],
)
def test_known_facts_are_encoded_only_where_one_could_be_replaced_or_forgotten(
    message: str, is_compared: bool
) -> None:
    judge = CountingJudge()

    judge.decide(judge.judge_message(message), [KnownFact("1", "I have a cat.")], [])

    assert ("I have a cat." in judge.texts) is is_compared
