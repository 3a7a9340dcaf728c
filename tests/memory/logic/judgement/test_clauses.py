"""Where a message is split, and what of it is not the person's own word."""

import pytest

from memory.logic.judgement.clauses import (
    list_splits,
    remove_introduction,
    repeat_subject,
    split_sentences,
)
from tests.support.cases import for_each


@for_each(
    "message, sentences",
    [
        ("I live in Lyon. Where can I eat?", ["I live in Lyon.", "Where can I eat?"]),
        ("私はベジタリアンです。何を作れますか？", ["私はベジタリアンです。", "何を作れますか？"]),
        ("أسكن في طنطا؟ نعم", ["أسكن في طنطا؟", "نعم"]),
        ("Dr. Chen is my doctor. I like her.", ["Dr. Chen is my doctor.", "I like her."]),
        ("one\n\ntwo", ["one", "two"]),
        ("> I live in Rome\nNice, isn't it?", ["Nice, isn't it?"]),
        ("```\nname = 'Tom'\n```\nWhy does it fail?", ["Why does it fail?"]),
        ("def f(x):\nexplain this", ["explain this"]),
        (
            "I live in Graz.\n\nFrom: ben@example.com\nSubject: Move\n\nI moved.",
            ["I live in Graz."],
        ),
        ("Von: Ben\nBetreff: Umzug\n\nIch wohne in Rom.\n---\nIch in Graz.", ["Ich in Graz."]),
        ("发件人：小王\n主题：搬家\n\n我住在上海。", []),
        ("From: Berlin\nTo: Lyon\nI moved.", ["From: Berlin", "To: Lyon", "I moved."]),
        ("  ", []),
    ],
)
def test_sentences_of_the_person(message: str, sentences: list[str]) -> None:
    assert split_sentences(message) == sentences


@for_each(
    "sentence, clauses",
    [
        ("I'm Ana and I live in Lyon.", ["I'm Ana", "I live in Lyon."]),
        ("I am Ana, I live in Lyon.", ["I am Ana", "I live in Lyon."]),
        ("i am ana, i live in lyon and i ski", ["i am ana", "i live in lyon", "i ski"]),
        ("Mam na imię Ana, i mieszkam w Gdyni.", ["Mam na imię Ana", "mieszkam w Gdyni."]),
        ("我住在南京，而且有一只猫。", ["我住在南京", "有一只猫。"]),
        ("ฉันชื่อมะลิ ฉันอยู่ที่เชียงใหม่", ["ฉันชื่อมะลิ", "ฉันอยู่ที่เชียงใหม่"]),
        ("我叫小明，住在北京。", ["我叫小明", "住在北京。"]),
        ("犬を飼っていて、名古屋に住んでいます。", ["犬を飼っていて", "名古屋に住んでいます。"]),
        ("Me llamo Ana, pero vivo en Lyon", ["Me llamo Ana", "vivo en Lyon"]),
        ("Me llamo Yolanda y vivo en Madrid.", ["Me llamo Yolanda", "vivo en Madrid."]),
        ("Ik heet Eva en woon in Utrecht.", ["Ik heet Eva", "woon in Utrecht."]),
        ("서울에 살고 고양이를 키워요.", ["서울에 살고", "고양이를 키워요."]),
        ("我住在南京而且有一只猫。", ["我住在南京", "有一只猫。"]),
        ("ฉันชื่อมะลิและอยู่ที่เชียงใหม่", ["ฉันชื่อมะลิ", "อยู่ที่เชียงใหม่"]),
    ],
)
def test_clauses_of_a_sentence(sentence: str, clauses: list[str]) -> None:
    assert clauses in list_splits(sentence)


@for_each(
    "first, clause, whole",
    [
        ("I live in Lyon", "work at Siemens", "I work at Siemens"),
        ("我叫小红", "住在南京", "我住在南京"),
        ("I live in Lyon", "my sister lives in Oslo", ""),
        ("I live in Lyon", "Tom lives in Oslo", ""),
        ("I am Ana", "a nurse", ""),
        ("I'm Ana", "live in Lyon", "I live in Lyon"),
        ("Ich wohne in Bonn", "34 Jahre alt", ""),
        ("Vivo en Madrid", "trabajo en un banco", ""),
    ],
)
def test_clause_gets_the_subject_that_it_leaves_out(first: str, clause: str, whole: str) -> None:
    assert repeat_subject(first, clause) == whole


@pytest.mark.parametrize("sentence", ["When I was in Rome I lived there."])
def test_the_english_i_is_no_polish_and(sentence: str) -> None:
    assert list_splits(sentence) == []


@pytest.mark.parametrize("sentence", ["I live in Lyon.", "a, b, c, d, e, f, g, h, i"])
def test_sentence_of_one_clause_or_of_a_list_is_not_split(sentence: str) -> None:
    assert list_splits(sentence) == []


@for_each(
    "sentence, fact",
    [
        ("Please remember that my cat is ill.", "My cat is ill."),
        ("by the way, I'm a vegetarian", "I'm a vegetarian"),
        ("请记住：我不吃肉", "我不吃肉"),
        ("Remember to call Tom", "Remember to call Tom"),
        ("Hi, my name is Ada and I live in Lisbon.", "My name is Ada and I live in Lisbon."),
        ("hi I'm Ada", "I'm Ada"),
        ("Hello there - we moved to Porto", "We moved to Porto"),
        ("Hi, please remember that I am vegan.", "I am vegan."),
        ("Hola, me llamo Ana", "Me llamo Ana"),
        ("Guten Tag, ich wohne in Kiel", "Ich wohne in Kiel"),
        ("你好，我叫小明", "我叫小明"),
        ("こんにちは、私は東京に住んでいます", "私は東京に住んでいます"),
        ("안녕하세요, 저는 서울에 살아요", "저는 서울에 살아요"),
        # Words that only begin like a greeting, and greetings with nothing behind them.
        ("High prices hurt me", "High prices hurt me"),
        ("Hello-Kitty is my cat", "Hello-Kitty is my cat"),
        ("Hola soy Ana, vivo en Madrid", "Hola soy Ana, vivo en Madrid"),
        ("Hi!", "Hi!"),
    ],
)
def test_introduction_of_a_fact_is_left_out(sentence: str, fact: str) -> None:
    assert remove_introduction(sentence) == fact
