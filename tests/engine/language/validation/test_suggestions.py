"""A name is suggested for one that is misspelt, and not for one that merely has letters in common with it."""

import pytest

from workflows.engine.language.validation.suggestions import Suggester


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("parameter-extracter", "parameter-extractor"),
        ("knowlege-retrieval", "knowledge-retrieval"),
        ("http-reqest", "http-request"),
        ("document-extractor", None),
        ("mail-sorter", None),
    ],
)
def test_every_word_of_a_suggestion_is_close(name: str, suggestion: str | None):
    kinds = ["parameter-extractor", "knowledge-retrieval", "http-request", "llm"]

    assert Suggester().find_close(name, kinds) == suggestion
