"""What of a conversation still holds, as the judgement of memory has it."""

import pytest

from memory.logic.judgement.holding import Holding, find_holding
from memory.logic.judgement.judge import Judge


@pytest.mark.parametrize(
    ("sentences", "recalled", "gone", "clauses"),
    [
        (["I live in Berlin.", "I moved to Lyon."], [], {"I live in Berlin."}, ()),
        # It was said in another conversation, so that only memory knows.
        (["I live in Berlin."], ["I moved to Lyon."], {"I live in Berlin."}, ()),
        (
            ["I live in Berlin and work at Siemens."],
            ["I moved to Lyon."],
            {"I live in Berlin and work at Siemens.", "I live in Berlin."},
            ("I work at Siemens.",),
        ),
        (
            ["J'habite à Brest.", "Je travaille chez Renault.", "J'ai déménagé à Lyon."],
            [],
            {"J'habite à Brest."},
            (),
        ),
        (["我住在北京。", "我上周搬到上海了。"], [], {"我住在北京。"}, ()),
        (
            ["My phone number is 0151 2345678.", "Please forget my phone number."],
            [],
            {"My phone number is 0151 2345678.", "Please forget my phone number."},
            (),
        ),
        (["I have a cat called Miso."], ["I have a dog called Rex."], set(), ()),
        (["The code word is banana.", "My name is Ana."], ["I like tea."], set(), ()),
        (["I live in Berlin."], ["I live in Berlin."], set(), ()),
    ],
)
def test_what_later_sentences_or_memory_replaced_is_gone(
    judge: Judge,
    sentences: list[str],
    recalled: list[str],
    gone: set[str],
    clauses: tuple[str, ...],
) -> None:
    assert find_holding(judge, sentences, recalled) == Holding(frozenset(gone), clauses)
