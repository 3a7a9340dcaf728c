from memory.core.folding import contains_folded, fold
from tests.support.cases import for_each


FOLDED = [
    ("Plain ASCII", "plain ascii"),
    ("Straße", "strasse"),
    ("GROẞ", "gross"),
    ("İzmir", "izmir"),
    ("ISPARTA ısparta", "isparta isparta"),
    ("ọ̀rọ̀", "oro"),  # a letter with two accents, one of them in it
    ("o\u0323", "o"),
    ("\u1ecd", "o"),
    ("ﾎﾟｽﾄ", "ポスト"),
    ("ｶﾀｶﾅ", "カタカナ"),
    ("ＡＢＣ１２３", "abc123"),
    ("Σίσυφος", "σισυφοσ"),
    ("Ёлка", "елка"),
    ("한국", "한국"),
    ("ガ", "ガ"),  # its mark is no accent: カ is another syllable
    ("ﬁn", "fin"),
]


@for_each("text, folded", FOLDED)
def test_text_is_folded_whatever_its_script(text: str, folded: str) -> None:
    assert fold(text) == folded
    assert fold(folded) == folded


def test_part_is_in_a_text_that_is_spelt_in_another_way() -> None:
    assert contains_folded("Die lange STRASSE", "straße")
    assert contains_folded("anything", "")
    assert not contains_folded("ガ", "カ")
    assert not contains_folded("한국", "하")
