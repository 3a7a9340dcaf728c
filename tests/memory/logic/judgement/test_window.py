"""An earlier turn is read as memory has it now: without what was forgotten, and with the end of what ended."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from memory.logic.judgement.window import LEFT_OUT, FactState, list_facts, reread_turns


NOW = datetime(2026, 11, 30, tzinfo=UTC)
ENDED = datetime(2026, 11, 28, tzinfo=UTC)


class Fact(NamedTuple):
    id: str
    text: str
    is_stored: bool = True
    scope: str = "user"


class Turn(NamedTuple):
    query: str
    answer: str = ""
    facts: tuple[Fact, ...] = ()


def read(*turns: Turn, **texts: str | tuple[str, datetime]) -> list[tuple[str, str]]:
    """Reread the turns. ``texts`` are what the entries say now that aren't forgotten, by their ids."""
    states: Mapping[str, FactState] = {
        id_: FactState(text) if isinstance(text, str) else FactState(*text)
        for id_, text in texts.items()
    }
    return reread_turns(turns, states, NOW)


PHONE = Fact("a", "My phone number is 555-867-5309.")


def test_turn_whose_facts_hold_reads_as_before() -> None:
    turn = Turn("Hi! My phone number is 555-867-5309. Bye.", "Noted.", (PHONE,))

    assert read(turn, a=PHONE.text) == [(turn.query, turn.answer)]


@pytest.mark.parametrize(
    ("query", "text", "rest"),
    [
        ("Hi! My phone number is 555-867-5309. Bye.", PHONE.text, "Hi! Bye."),
        (PHONE.text, PHONE.text, LEFT_OUT),
        ("I like tea and I live in Lyon.", "I live in Lyon.", "I like tea and ."),
        ("My Name is ANA.\nI like tea.", "My name is Ana.", "I like tea."),
        ("Ich wohne in Kiel. Ich mag Tee.", "Ich wohne in Kiel.", "Ich mag Tee."),
        ("我住在北京。我喜欢喝茶。", "我住在北京。", "我喜欢喝茶。"),
        ("京都に住んでいます。犬が好きです。", "京都に住んでいます。", "犬が好きです。"),
    ],
)
def test_what_was_forgotten_is_left_out_and_nothing_else(query: str, text: str, rest: str) -> None:
    assert read(Turn(query, "", (Fact("a", text),))) == [(rest, "")]


def test_answers_and_later_turns_do_not_repeat_what_was_forgotten() -> None:
    turns = [
        Turn(PHONE.text, "I noted 555-867-5309. Anything else?", (PHONE,)),
        Turn("How can people call me?", "Your phone number is 555-867-5309.", (PHONE._replace(is_stored=False),)),
        Turn("Forget 555-867-5309 please.", "Done."),
        Turn("What is my phone number?", "I don't know."),
    ]  # fmt: skip

    assert read(*turns) == [
        (LEFT_OUT, "Anything else?"),
        ("How can people call me?", LEFT_OUT),
        (LEFT_OUT, "Done."),
        ("What is my phone number?", "I don't know."),
    ]


def test_what_a_model_wrote_in_its_own_words_leaves_nothing_of_the_message() -> None:
    turn = Turn("Just call my cell, oh-five-five.", "OK.", (Fact("a", "My mobile ends in 055."),))

    two = Turn("I like tea. Call me on oh-five-five.", "", (*turn.facts, Fact("b", "I like tea.")))

    assert read(turn) == [(LEFT_OUT, "OK.")]
    assert read(two) == [(LEFT_OUT, "")]
    assert read(two, b="I like tea.") == [(LEFT_OUT, "")]


def test_message_that_only_recalled_what_is_gone_stays_if_it_does_not_repeat_it() -> None:
    turn = Turn("Who am I?", "You like tea.", (PHONE._replace(is_stored=False),))

    assert read(turn) == [("Who am I?", "You like tea.")]


def test_what_ended_gets_its_day() -> None:
    in_same_words = Turn("Hi! I live in Berlin. Bye.", "Noted: I live in Berlin.", (Fact("a", "I live in Berlin."),))  # fmt: skip
    in_other_words = Turn("Berlin-based, yeah!", "OK", (Fact("a", "My home is there."),))

    assert read(in_same_words, a=("I live in Berlin.", ENDED)) == [
        ("Hi! [until 28 Nov 2026] I live in Berlin. Bye.", "Noted: I live in Berlin.")
    ]
    assert read(in_other_words, a=("My home is there.", ENDED)) == [
        ("[until 28 Nov 2026: My home is there.] Berlin-based, yeah!", "OK")
    ]


def test_what_will_end_holds_until_then() -> None:
    turn = Turn("I live in Berlin.", "", (Fact("a", "I live in Berlin."),))

    assert read(turn, a=("I live in Berlin.", datetime(2027, 1, 1, tzinfo=UTC))) == [
        ("I live in Berlin.", "")
    ]


def test_what_a_person_corrected_is_left_out() -> None:
    turn = Turn("My name is Clara. I like tea.", "", (Fact("a", "My name is Clara."),))

    assert read(turn, a="My name is Klara.") == [("I like tea.", "")]


def test_what_was_told_anew_after_it_was_forgotten_stays() -> None:
    turns = [Turn(PHONE.text, "", (PHONE,)), Turn(PHONE.text, "", (PHONE._replace(id="b"),))]

    assert read(*turns, b=PHONE.text) == [(PHONE.text, ""), (PHONE.text, "")]


def test_name_that_is_in_what_holds_is_no_reason_to_leave_a_sentence_out() -> None:
    work, home = Fact("a", "I work at Siemens in Berlin."), Fact("b", "I live in Berlin.")
    turn = Turn("I work at Siemens in Berlin. I live in Berlin.", "Berlin is big.", (work, home))

    assert read(turn, b=home.text) == [("I live in Berlin.", "Berlin is big.")]


def test_each_entry_is_asked_for_once_and_those_without_an_id_never() -> None:
    elsewhere = Fact("", "I like tea.")
    turns = [Turn("a", "", (PHONE, elsewhere)), Turn("b", "", (PHONE,))]

    assert list_facts(turns) == [PHONE]
    assert read(Turn("I like tea.", "", (elsewhere,))) == [("I like tea.", "")]
