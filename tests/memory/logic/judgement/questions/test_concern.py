"""Whom a question concerns, and what enters a prompt by it. None of these texts was used for training."""

from typing import Any

import pytest

from bench.judgement.sentences import read_sentences
from memory.core.records import MemoryQuery, StoreParams
from memory.embedding.embedders import Options
from memory.embedding.local import LocalModel
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.questions.concern import set_floors
from memory.providers.in_memory import InMemoryProvider
from workflows.engine.ports import Origin


PERSON = (
    "What is my favourite sandwich called?",
    "Which of my cousins plays the harp?",
    "Wie heißt mein Zahnarzt?",
    "À quelle heure je dois prendre mon train ?",
    "我的摩托车停在哪儿了？",
    "私の眼鏡はどこで買いましたか？",
)
WORLD = (
    "How many teeth does a shark have?",
    "Write a function that finds the longest palindrome.",
    "Wie weit ist der Mars von der Erde entfernt?",
    "Quelle est la formule de l'eau oxygénée ?",
    "怎么证明根号二是无理数？",
    "三国志の作者は誰ですか？",
)
FACTS = {
    "lunch": "I always order pastrami on rye.",
    "harp": "My cousin Edith plays the harp.",
    "bike": "I ride a green motorcycle.",
    "teeth": "My dentist is Dr. Sommer.",
    "sea": "I swim in the ocean every Sunday.",
}


def find_concern(judge: Judge, text: str, scope: str) -> float:
    concern = set_floors(judge, MemoryQuery("", query_text=text), scope).concern
    assert concern is not None
    return concern


@pytest.mark.parametrize("text", PERSON)
def test_questions_about_the_person_concern_them(judge: Judge, text: str) -> None:
    assert find_concern(judge, text, "user") > 0.5


@pytest.mark.parametrize("text", WORLD)
def test_questions_about_the_world_do_not(judge: Judge, text: str) -> None:
    assert find_concern(judge, text, "user") < 0.3


def test_texts_were_not_used_for_training() -> None:
    assert {sentence.text for sentence in read_sentences()}.isdisjoint((*PERSON, *WORLD))


@pytest.mark.parametrize("scope", ["workflow", "global", "conversation", "run"])
def test_whoever_shares_a_memory_is_concerned_by_every_question(judge: Judge, scope: str) -> None:
    assert find_concern(judge, WORLD[0], scope) == 1.0


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel(Options())


@pytest.mark.parametrize(
    ("question", "min_score", "first"),
    [
        ("Which relative of mine plays an instrument?", None, "harp"),
        ("What do I drive?", None, "bike"),
        ("How many teeth does a shark have?", None, None),
        ("Which ocean is the deepest?", None, None),
        ("Which ocean is the deepest?", 0.0, "sea"),
    ],
)
async def test_nothing_enters_a_prompt_for_a_question_about_the_world(
    judge: Judge, model: LocalModel, question: str, min_score: float | None, first: str | None
) -> None:
    memory = InMemoryProvider(embedder=model)
    memory.judge = judge
    for key, value in FACTS.items():
        memory.store(StoreParams("user:mia", key, value=value))
    more: dict[str, Any] = {"top_k": 3, "min_score": min_score}

    hits = await memory.port().recall(
        scope="user",
        identity={"user_id": "mia"},
        origin=Origin("run", "node", "1"),
        query_text=question,
        **more,
    )

    assert [hit.key for hit in hits][:1] == ([] if first is None else [first])
