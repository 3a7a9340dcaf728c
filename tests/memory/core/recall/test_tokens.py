from memory.core.recall.tokens import extract_query_terms, extract_terms
from tests.support.cases import for_each


TERMS = [
    ("The cats are running", ("the", "cat", "are", "run")),
    ("2012年的", ("2012", "年", "的", "年的")),
    ("我的猫", ("我", "的", "猫", "我的", "的猫")),
    ("GPT4机器", ("gpt4", "机", "器", "机器")),
    ("Café CAFE café", ("cafe", "cafe", "cafe")),
    ("ＡＢＣ　１２", ("abc", "12")),
    ("кошки и кошка", ("кошк", "и", "кошк")),
    ("a_b-c.d", ("a", "b", "c", "d")),
    ("👍 … !", ()),
    ("", ()),
]


@for_each("text, expected", TERMS)
def test_text_is_cut_into(text: str, expected: tuple[str, ...]) -> None:
    assert extract_terms(text) == expected


def test_question_loses_its_stop_words_unless_nothing_else_is_left() -> None:
    assert extract_query_terms("What is my cat called?") == ("cat", "call")
    assert extract_query_terms("Who am I?") == ("who", "am", "i")


def test_language_chooses_the_endings() -> None:
    assert extract_terms("Katzen", "german") == extract_terms("Katze", "german")
    assert extract_terms("Katzen", "no such language") == ("katzen",)


def test_long_text_is_cut_like_a_short_one() -> None:
    assert extract_terms("cats " * 1000) == ("cat",) * 1000
