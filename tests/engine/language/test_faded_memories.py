"""The words of memories in a very long conversation: their size is bounded, and each of them is still recognized."""

import base64
import random

import pytest

from tests.support.documents import document, end, start
from workflows.engine.language.content_marks.faded_memories import MAX_WORDS, SIZE, FadedMemories
from workflows.engine.language.content_marks.shown_memories import (
    MAX_VALUE,
    ShownMemories,
    bound_memories,
)
from workflows.engine.runtime.runner import WorkflowRunner


OLD = ("mygoldfishiscalledberenice", "beatrix", "我的银行密码是七八九", "4711")


def make_words(count: int, length: int, seed: int = 0) -> list[str]:
    letters = random.Random(seed)
    return ["".join(letters.choices("abcdefghijklmnop", k=length)) for _word in range(count)]


def shown(words: tuple[str, ...]) -> ShownMemories:
    memories = ShownMemories()
    memories.add(words)
    return memories


def test_few_words_are_kept_as_they_are_each_once() -> None:
    assert bound_memories(["b", "a", "b"]) == ("b", "a")


def test_words_of_any_number_of_turns_need_a_bounded_room() -> None:
    words: tuple[str, ...] = ()
    sizes = []
    for turn in range(8):
        words = bound_memories([*words, *make_words(200, 200, seed=turn)])
        sizes.append(sum(map(len, words)))

    assert max(sizes) <= MAX_WORDS + 2 * SIZE
    assert words[-1] == make_words(200, 200, seed=7)[-1]


@pytest.mark.parametrize("word", OLD)
def test_memory_that_was_shown_long_ago_is_recognized_in_every_encoding(word: str) -> None:
    memories = shown(bound_memories([*OLD, *make_words(300, 200)]))
    encoded = base64.b64encode(word.encode()).decode()

    assert word not in bound_memories([*OLD, *make_words(300, 200)])
    assert memories.is_in({"url": f"https://x.test/?a={word}"})
    assert memories.is_in([word[::-1]])
    assert memories.is_in(f"https://x.test/{encoded}")
    assert any(word in passage for passage in memories.find_in(f"so: {word}."))


@pytest.mark.parametrize("before", ["a page. ", "b"])
def test_memory_behind_more_than_is_searched_is_handed_on(before: str) -> None:
    memories = shown(("Her goldfish is called Berenice", "4711", *bound_memories(OLD)))
    value = {"page": before * (MAX_VALUE // len(before) + 1), "note": "It is called Berenice, 4711"}

    handed_on = shown(bound_memories(memories.find_in(value)))

    assert handed_on.is_in({"q": "is called berenice"})
    assert handed_on.is_in({"q": "Berenice"})
    assert handed_on.is_in({"q": "4711"})
    assert not handed_on.is_in({"q": "weather in Bern"})


def test_filters_of_two_turns_at_the_same_time_become_one() -> None:
    first = bound_memories([OLD[0], *make_words(300, 200)])
    second = bound_memories([OLD[2], *make_words(300, 200, seed=1)])

    words = bound_memories([*first, *second])

    assert [word.startswith("#faded:") for word in words] == [True] + [False] * (len(words) - 1)
    assert shown(words).is_in(OLD[0])
    assert shown(words).is_in(OLD[2])


def test_other_words_are_not_taken_for_faded_ones() -> None:
    memories = shown(bound_memories([*make_words(20, 200), *make_words(250, 200, seed=1)]))

    assert not memories.is_in("What is the weather in Bern tomorrow, and shall I take a coat?")
    assert not memories.is_in("https://api.example.com/v1/forecast?city=Bern&days=3")


def test_own_words_of_this_turn_are_no_memory_although_they_have_faded() -> None:
    memories = ShownMemories("My goldfish is called Berenice")
    memories.add(bound_memories([OLD[0], *make_words(300, 200)]))

    assert not memories.is_in("goldfish berenice")


@pytest.mark.parametrize(
    "text",
    ["#faded:berenicethegoldfish", "#faded:", "#faded:" + base64.b64encode(b"x" * 9).decode()],
)
def test_memory_that_looks_like_a_filter_is_a_memory(text: str) -> None:
    assert FadedMemories.parse(text) is None
    assert shown((text,)).is_in("berenicethegoldfish") is ("berenice" in text)


async def test_conversation_hands_on_a_bounded_room_from_turn_to_turn() -> None:
    chat = document([start(), end("end", text=["sys", "query"])], ["start -> end"])
    words: tuple[str, ...] = OLD
    for turn in range(3):
        handle = WorkflowRunner(chat).start(
            inputs={}, shown_memories=(*words, *make_words(300, 200, seed=turn))
        )
        words = (await handle.result()).shown_memories

    assert sum(map(len, words)) <= MAX_WORDS + 2 * SIZE
    assert all(shown(words).is_in(word) for word in OLD)
