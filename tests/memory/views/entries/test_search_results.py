"""Searching everything on the overview of memory."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory import services
from tests.memory.services.conftest import at_door
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

INLINE = re.compile(r"<script(?![^>]*src)|\sstyle=|\son\w+=")


def store(person: Person, namespace: str, key: str, value: Any, **more: Any) -> str:
    door = at_door(person)
    return services.remember(door, namespace=namespace, key=key, value=value, **more).id


def page(person: Person, **query: str) -> str:
    answer = person.client.get("/memory/", query)
    assert answer.status_code == 200
    text = markup_of(answer)
    assert not INLINE.search(text)
    return text


def shown(text: str) -> list[str]:
    """The keys of what was found, in their order."""
    rows = re.findall(r'<td class="break mem-value">(.*?)</td>', text, re.DOTALL)
    return [re.findall(r'<span\s+class="mono clip"[^>]*>([^<]*)</span>', row)[0] for row in rows]


def test_words_find_memories_with_their_place_and_reasons_and_names_too(
    alice: Person, bob: Person
) -> None:
    store(alice, "global:teashop", "hours", "open from nine")
    store(alice, "global:wiki", "leaves", "how green tea is made, tea by tea")
    store(alice, f"user:{alice.user.pk}", "drink", "green tea at noon, and nothing after")

    text = page(alice, q="green tea")
    assert shown(text) == ["leaves", "drink"]
    assert ">You</a>" in text  # where it was found, in people's words
    assert re.search(r"/memory/namespaces/[^/]+/\?q=green%20tea", text)
    assert "mem-score" in text
    assert "No matching namespaces." in text
    assert "newest-title" not in text
    named = page(alice, q="teashop")
    assert shown(named) == []
    assert "No memories found" in named
    assert "Matching namespaces" in named
    assert "global:teashop" in named
    assert shown(page(bob, q="green tea")) == ["leaves"]


def test_scope_tier_and_category_narrow_and_stay_in_the_form(alice: Person) -> None:
    store(alice, "global:wiki", "a", "tea", category="fact")
    store(alice, "global:wiki", "b", "tea with a cake", category="note", tier="working")
    store(alice, f"user:{alice.user.pk}", "c", "tea", category="note")

    assert sorted(shown(page(alice, q="tea"))) == ["a", "b", "c"]
    assert shown(page(alice, q="tea", scope="user")) == ["c"]
    text = page(alice, q="tea", scope="global", tier="working", category="note")
    assert shown(text) == ["b"]
    assert '<option value="working" selected>' in text
    assert 'name="category" maxlength="40" value="note"' in text
    assert '<option value="global" selected>' in text
    assert sorted(shown(page(alice, q="tea", tier="nonsense", scope="nonsense"))) == ["a", "b", "c"]


def test_many_hits_come_in_pages_and_turning_them_keeps_the_names(alice: Person) -> None:
    for number in range(27):
        store(alice, "global:tea", f"k{number:02}", "tea")

    first = page(alice, q="tea")
    following = re.search(r'href="(\?[^"]*from=25[^"]*)"', first)
    assert following is not None
    address = following[1].replace("&amp;", "&")
    second = markup_of(alice.client.get(f"/memory/{address}"))

    assert (len(shown(first)), len(shown(second))) == (25, 2)
    assert not set(shown(first)) & set(shown(second))
    assert "global:tea" in second
    assert '<option value="global">' in second
    assert (
        'name="from"' not in second
    )  # the second page of a narrower search may have nothing on it


def test_markup_in_memories_and_words_is_text(alice: Person) -> None:
    store(alice, "global:wiki", "<b>k</b>", "<script>alert(1)</script> tea")

    text = page(alice, q='tea"><script>')

    assert "<script>alert" not in text
    assert 'value="tea&quot;&gt;&lt;script&gt;"' in text


# Literal: what the page may ask of the database, however much it finds.
QUERIES = 28


def test_search_asks_as_often_for_many_rows_as_for_one(alice: Person) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as questions:
            page(alice, q="tea")
        return len(questions)

    store(alice, "global:p0", "k", "tea")
    asked()  # the first look pays for caches
    once = asked()
    for number in range(1, 9):
        store(alice, f"global:p{number}", "k", "tea")

    assert asked() == once
    assert once == QUERIES
