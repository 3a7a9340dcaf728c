"""A message is read after the turns before it, and judged as what it means in them."""

import pytest

from memory.logic.judgement.judge import Judge
from memory.logic.judgement.labels import Attribute
from memory.logic.judgement.wording.answers import (
    build_statement,
    find_question,
    is_short_answer,
)
from memory.logic.judgement.wording.reading import PrecedingTurn, parse_turns
from tests.support.cases import for_each


@for_each(
    "question, message, fact",
    [
        ("Nice to meet you! Where do you live?", "Lyon.", "My home: Lyon."),
        ("What do you do for a living?", "A nurse.", "My job: A nurse."),
        ("How old are you?", "34", "My age: 34"),
        ("Wo wohnst du?", "Köln", "Mein Wohnort: Köln"),
        ("¿Cómo te llamas?", "Ana", "Mi nombre: Ana"),
        ("Où habites-tu ?", "Lyon", "Mon domicile: Lyon"),
        ("Где ты живёшь?", "Тула", "Мой дом: Тула"),
        ("你住在哪里？", "成都", "我的住处: 成都"),
        ("お名前は何ですか？", "健太です", "私の名前: 健太です"),
        ("어디에 사세요?", "부산", "제 집: 부산"),
        ("أين تسكن؟", "القاهرة", "مكان سكني: القاهرة"),
        ("Do you have a pet?", "A parrot", "My pet: A parrot"),
    ],
)
def test_answer_in_a_word_is_a_fact(judge: Judge, question: str, message: str, fact: str) -> None:
    clauses = judge.judge_message(message, [PrecedingTurn("Hi.", question)])

    assert [clause.text for clause in clauses if clause.is_stored] == [fact]


@for_each(
    "question, message",
    [
        ("Where do you live?", "thanks"),
        ("Where do you live?", "no idea, sorry, ask me tomorrow please"),
        ("Do you have a pet?", "No."),
        ("Wie heißt du?", "nein"),
        ("What is your sister's name?", "Ida"),
        ("What is the capital of Italy?", "Rome"),
        ("You live in a nice place.", "Lyon"),
        ("", "Lyon"),
    ],
)
def test_what_answers_no_question_about_the_person_is_no_fact(
    judge: Judge, question: str, message: str
) -> None:
    assert judge.judge_message(message, [PrecedingTurn("Hi.", question)]) == []


@for_each(
    "earlier, message, fact",
    [
        ("My sister Rosa is a nurse.", "She moved to Lima.", "My sister Rosa moved to Lima."),
        ("Meine Mutter ist Ärztin.", "Sie wohnt in Köln.", "Meine Mutter wohnt in Köln."),
        ("我姐姐是医生。", "她住在上海。", "我姐姐住在上海。"),
        ("I have a dog.", "His name is Rex.", "I have a dog. His name is Rex."),
        ("I live in Lima.", "No, I meant Quito.", "I live in Quito."),
    ],
)
def test_message_is_about_what_the_turn_before_names(
    judge: Judge, earlier: str, message: str, fact: str
) -> None:
    clauses = judge.judge_message(message, [PrecedingTurn(earlier, "I see.")])

    assert [clause.text for clause in clauses] == [fact]


def test_person_of_a_pronoun_is_not_the_speaker(judge: Judge) -> None:
    (clause,) = judge.judge_message("She moved to Lima.")

    assert clause.is_of_speaker == 0


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("My password is [redacted: password].", []),
        ("My password is [redacted: password] and I live in Lyon.", ["I live in Lyon."]),
        ("Mein Passwort ist [redacted: password]. Ich wohne in Kiel.", ["Ich wohne in Kiel."]),
    ],
)
def test_what_a_removed_secret_leaves_is_no_fact(
    judge: Judge, message: str, facts: list[str]
) -> None:
    assert [clause.text for clause in judge.judge_message(message)] == facts


def test_question_ends_what_the_assistant_wrote() -> None:
    assert find_question("Great. And where do you work?") == "And where do you work?"
    assert find_question("What a day! Where do you work? Just curious.") == ""


def test_answer_is_short() -> None:
    assert is_short_answer("on the coast near Lyon")
    assert not is_short_answer("I would rather not tell you that today")
    assert not is_short_answer("Lyon?")


def test_statement_has_a_name_for_the_attribute() -> None:
    assert build_statement(Attribute.NAME, "Hoe heet je?", "Jan") == "Mijn naam: Jan"
    assert build_statement(Attribute.LIKES, "What do you like?", "tea") == ""


def test_turns_are_read_from_the_engine() -> None:
    turns = parse_turns([{"person": "Hi.", "assistant": "Hello!"}, {"person": "I'm Ana."}])

    assert turns == (PrecedingTurn("Hi.", "Hello!"), PrecedingTurn("I'm Ana."))
