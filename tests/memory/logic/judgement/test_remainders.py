"""What an entry says beside what a person asks to forget is kept, or the person is asked."""

import pytest

from memory.logic.judgement.judge import Judge
from memory.logic.judgement.remainders import Remainder, find_remainder


ALL_OF_IT = Remainder()
UNCLEAR = Remainder(is_unclear=True)


@pytest.mark.parametrize(
    ("wish", "fact", "kept"),
    [
        (
            "Please forget that I live in Hamburg.",
            "Live in Hamburg and I am allergic to peanuts.",
            ["I am allergic to peanuts."],
        ),
        (
            "Forget where I live.",
            "I am Lena, I live in Hamburg and I am allergic to peanuts.",
            ["I am Lena.", "I am allergic to peanuts."],
        ),
        (
            "Forget that I live in Hamburg and that I am allergic to peanuts.",
            "I am Lena. I live in Hamburg. I am allergic to peanuts.",
            ["I am Lena."],
        ),
        ("Forget that I like coffee.", "I like tea and coffee.", ["I like tea."]),
        (
            "Vergiss, wo ich wohne.",
            "Ich wohne in Hamburg und bin allergisch gegen Erdnüsse.",
            ["Ich bin allergisch gegen Erdnüsse."],
        ),
        (
            "Oublie où j'habite.",
            "J'habite à Hambourg et je suis allergique aux arachides.",
            ["Je suis allergique aux arachides."],
        ),
        (
            "Olvida dónde vivo.",
            "Vivo en Hamburgo y soy alérgica a los cacahuetes.",
            ["Soy alérgica a los cacahuetes."],
        ),
        (
            "Dimentica dove abito.",
            "Mi chiamo Lena, abito ad Amburgo e sono allergica alle arachidi.",
            ["Mi chiamo Lena.", "Sono allergica alle arachidi."],
        ),
        (
            "Забудь, где я живу.",
            "Я живу в Гамбурге и у меня аллергия на арахис.",
            ["У меня аллергия на арахис."],
        ),
        (
            "Nerede yaşadığımı unut.",
            "Hamburg'da yaşıyorum ve fıstığa alerjim var.",
            ["Fıstığa alerjim var."],
        ),
        ("忘记我住在哪里", "我住在汉堡，而且我对花生过敏。", ["我对花生过敏。"]),
        (
            "住んでいる場所は忘れて",
            "ハンブルクに住んでいて、ピーナッツアレルギーです。",
            ["ピーナッツアレルギーです。"],
        ),
        (
            "내가 사는 곳 잊어 줘",
            "함부르크에 살고 땅콩 알레르기가 있어요.",
            ["땅콩 알레르기가 있어요."],
        ),
    ],
)
def test_what_the_wish_does_not_name_is_kept(
    judge: Judge, wish: str, fact: str, kept: list[str]
) -> None:
    assert find_remainder(judge, wish, fact) == Remainder(tuple(kept))


@pytest.mark.parametrize(
    ("wish", "fact"),
    [
        ("Forget that I like tea.", "I like tea and coffee."),
        ("Forget my allergy to peanuts.", "I'm allergic to peanuts and cats."),
        ("Forget about my dog.", "I have a dog and a cat."),
        ("Forget where Lena lives.", "Lena lives in Hamburg and is allergic to peanuts."),
    ],
)
def test_what_cannot_be_told_apart_is_asked_about(judge: Judge, wish: str, fact: str) -> None:
    assert find_remainder(judge, wish, fact) == UNCLEAR


@pytest.mark.parametrize(
    ("wish", "fact"),
    [
        ("Forget that.", "I live in Hamburg and I am allergic to peanuts."),
        ("Forget everything about me.", "I live in Hamburg and I am allergic to peanuts."),
        ("Forget what I like.", "I like tea and coffee."),
        ("Forget my address.", "My address is Main Street 5, 12345 Berlin."),
        ("Forget my birthday.", "My birthday is 3 May, 1990."),
        ("Forget my phone number.", "You can call me at 555 0142."),
        ("Vergiss, wo ich wohne.", "Meine Adresse ist Hauptstraße 5, Berlin."),
    ],
)
def test_entry_that_the_wish_means_as_a_whole_leaves_nothing(
    judge: Judge, wish: str, fact: str
) -> None:
    assert find_remainder(judge, wish, fact) == ALL_OF_IT


@pytest.mark.parametrize(
    ("wish", "fact", "remainder"),
    [
        ("Forget that I live in Hamburg", "I live in Hamburg and work in Bremen", UNCLEAR),
        ("Forget that I live in Hamburg", "I live in Hamburg", ALL_OF_IT),
    ],
)
def test_without_an_encoder_the_words_decide(wish: str, fact: str, remainder: Remainder) -> None:
    assert find_remainder(None, wish, fact) == remainder
