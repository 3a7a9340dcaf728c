"""When a sentence is a repetition of what memory said, and when it says something of its own."""

import pytest

from memory.logic.curation.feedback_loop import KnownTexts, is_repetition


KNOWN = KnownTexts.from_texts(
    [
        "I'm Zoe, and I'm allergic to walnuts.",
        "My cat is called Mimi.",
        "Alice prefers green tea",
        "Bob lives in Rome",
        "我喜欢在周末爬山。",
        "我的猫叫咪咪。",
    ]
)

AGAIN = [
    "I'm Zoe, and I'm allergic to walnuts. My cat is called Mimi.",
    "“I'm Zoe, and I'm allergic to walnuts.” “My cat is called Mimi.”",
    "I remember that Bob lives in Rome and your cat is called Mimi.",
    "- said_01a2: My cat is called Mimi.",
    '{"learnings": ["Alice prefers green tea"]}',
    "我记得：“我喜欢在周末爬山。” “我的猫叫咪咪。”",
    "我喜欢在周末爬山，我的猫叫咪咪",
]
NEW = [
    "Bob prefers green tea",  # every word is known, and nobody said that
    "Alice lives in Rome",
    "My cat is called Bob",
    "My cat isn't called Mimi",
    "- Rome: Mimi lives here",
    "我的猫喜欢爬山",
]


@pytest.mark.parametrize("sentence", AGAIN)
def test_what_was_said_in_whatever_wrapping_is_a_repetition(sentence: str):
    assert KNOWN.contains(sentence)


@pytest.mark.parametrize("sentence", NEW)
def test_known_words_that_say_something_else_are_news(sentence: str):
    assert not KNOWN.contains(sentence)


RUNS = [
    ("What is my cat called?", ["What is my cat called?", "My cat is called Mimi."], True),
    ("What is my dog called?", ["What is my dog called?"], True),
    ("What does it cost?", ["It costs 30 euros per month, since March."], False),
    ("Deploy the shop", ["Deploy the shop", "Done."], False),
    ("我的猫叫什么名字？", ["我的猫叫咪咪。"], True),
]


@pytest.mark.parametrize(("task", "outputs", "told_again"), RUNS)
def test_run_is_an_answer_from_memory_where_nothing_new_came_of_it(
    task: str, outputs: list[str], told_again: bool
):
    assert is_repetition(task, outputs, KNOWN, None) is told_again
