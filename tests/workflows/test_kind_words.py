"""Kinds of nodes on pages go by their titles."""

import pytest
from django.utils import translation

from workflows.templatetags.kind_words import kind_in_words


@pytest.mark.parametrize(
    ("kind", "expected"), [("memory-recall", "Recall"), ("gone-kind", "gone-kind")]
)
def test_kind_goes_by_its_title(kind: str, expected: str):
    assert kind_in_words(kind) == expected


def test_kind_goes_by_its_title_in_the_readers_language():
    with translation.override("zh-hans"):
        assert not kind_in_words("memory-recall").isascii()
