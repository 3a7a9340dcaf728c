"""The category and the tier of an entry in a list: what they say, and where a tier says nothing."""

import re

import pytest

from tests.memory.views.entries.test_browsing import page, store
from tests.support.cast import Person


pytestmark = pytest.mark.django_db


def test_tier_is_shown_where_rows_differ_in_it_and_explained(alice: Person) -> None:
    store(alice, "one", tier="long_term", metadata={"category": "fact"})
    alike = page(alice, "/memory/")
    store(alice, "two", tier="working")
    different = page(alice, "/memory/")

    kinds = r'mem-kinds">.*?</td>'
    assert ["Long-term" in cell for cell in re.findall(kinds, alike, re.S)] == [False]
    assert [
        "-term" in cell or "Working" in cell for cell in re.findall(kinds, different, re.S)
    ] == [
        True,
        True,
    ]
    assert 'title="In use. Does not expire."' in different
    assert 'title="Something that a person said"' in alike
