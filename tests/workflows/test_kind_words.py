"""Kinds of nodes on pages go by their titles."""

import pytest
from django.utils import translation

from workflows.templatetags.kind_words import get_kind_title


@pytest.mark.parametrize(
    ("kind", "expected"), [("memory-recall", "Recall"), ("gone-kind", "gone-kind")]
)
def test_kind_goes_by_its_title(kind: str, expected: str):
    assert get_kind_title(kind) == expected


def test_kind_goes_by_its_title_in_the_readers_language():
    with translation.override("zh-hans"):
        assert not get_kind_title("memory-recall").isascii()
