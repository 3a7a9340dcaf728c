import pytest

from memory.core.recall.selection import build_text_similarity


PAIRS = [
    ("night", "nacht", 0.25),
    ("same", "SAME", 1.0),
    ("a b", "b a", 1.0),
    ("cat", "dog", 0.0),
    ("", "cat", 0.0),
    ("", "", 0.0),
    ("上海人", "上海", 2 / 3),
]


@pytest.mark.parametrize(("one", "other", "expected"), PAIRS)
def test_similarity_is_the_share_of_common_pairs(one: str, other: str, expected: float) -> None:
    assert (
        build_text_similarity(one)(other)
        == build_text_similarity(other)(one)
        == pytest.approx(expected)
    )
