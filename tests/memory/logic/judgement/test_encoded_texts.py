"""Which texts are encoded: each takes milliseconds, so none that a turn can do without."""

from collections.abc import Sequence

import pytest

from memory.embedding import encoder
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.likeness import JudgedFact
from memory.logic.judgement.operations import KnownFact
from memory.logic.judgement.probes import Floats, load_probes
from memory.logic.judgement.relating import (
    contradicts,
    list_replaced,
    may_concern_known,
    may_contradict,
)


TEXTS = [
    "I live in Lyon.",
    "I live in Graz.",
    "I also live in Lyon.",
    "I lived in Lyon as a child.",
    "I moved to Graz.",
    "I no longer live in Lyon.",
    "I play the violin.",
    "My favourite film is Vertigo.",
    "My favourite film is Alien.",
    "我住在南京。",
    "我搬到了北京。",
]


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


def test_part_of_a_sentence_is_not_judged_again_because_it_is_stored_as_one() -> None:
    judge = CountingJudge()

    clauses = judge.judge_message("Meine Mutter heißt Eva, wir wohnen in Graz.")
    judged = [*judge.texts]
    stored = judge.judge_texts([clause.text for clause in clauses])

    assert [clause.text for clause in stored] == ["Meine Mutter heißt Eva.", "Wir wohnen in Graz."]
    assert judge.texts == judged
    assert "Wir wohnen in Graz." not in judged


@pytest.mark.parametrize(
    ("message", "is_compared"),
    [
        ("I play the violin.", False),
        ("I live in Lyon.", True),
        ("I sold my bicycle.", True),
        ("My favourite film is Vertigo.", True),
        ("Please forget that I play the violin.", True),
        ("I also live in Lyon.", False),
        ("I lived in Lyon as a child.", False),
    ],
)
def test_known_facts_are_encoded_only_where_one_could_be_replaced_or_forgotten(
    message: str, is_compared: bool
) -> None:
    judge = CountingJudge()

    judge.decide(judge.judge_message(message), [KnownFact("1", "I have a cat.")], [])

    assert ("I have a cat." in judge.texts) is is_compared


@pytest.mark.parametrize(
    ("text", "is_compared"),
    [
        ("I live in Lyon.", True),
        ("I play the violin.", False),
        ("I also live in Lyon.", False),
        ("I lived in Lyon as a child.", False),
    ],
)
def test_known_facts_are_encoded_only_where_one_could_contradict(
    text: str, is_compared: bool
) -> None:
    judge = CountingJudge()

    judge.find_contradicting(text, [KnownFact("1", "I have a cat.")])

    assert ("I have a cat." in judge.texts) is is_compared


@pytest.mark.parametrize("other", TEXTS)
@pytest.mark.parametrize("text", TEXTS)
def test_what_is_not_compared_would_have_replaced_and_contradicted_nothing(
    text: str, other: str
) -> None:
    probes = load_probes()
    clause, fact = Judge(encoder.encode, probes).judge_texts([text, other])

    replaced = list_replaced(clause, [JudgedFact(KnownFact("1", other), fact)], probes.center)

    assert may_concern_known(clause) or not replaced
    assert may_contradict(clause) or not contradicts(clause, fact, probes.center)
