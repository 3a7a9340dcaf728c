"""Markdown in, Markdown out: the same bytes, whatever is in them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.errors import InvalidInput
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_files import (
    build_file_name,
    export_page,
    import_page,
    split_header,
)
from memory.logic.knowledge.pages import KnowledgePage
from tests.memory.logic.support import START, STORES, Ticking, quick
from tests.support.cases import for_each


def load(data: bytes, name: str = "notes.md") -> KnowledgePage:
    return import_page(data, name=name, now=START)


HOSTILE = st.lists(
    st.sampled_from(
        ["---", "\n", "\r\n", "\r", "---\n", "...\n", " ", "  \n", "\t", ": ", "- ", "#", "\"", "'", "\\",
         "title: x\n", "id: 1\n", "tags: [a", "]", "猫", "é", "e\u0301", "\u2028", "\x85", "\ufeff", "👍",
         "[[a]]", "<b>", "&", "%", "{{", "key: |\n", "&a ", "*a", "!!python/object:os.system ", "? ", "~"]
    )
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6),
    max_size=14,
).map("".join)  # fmt: skip

PAGES = st.builds(
    KnowledgePage,
    id=HOSTILE.map(lambda text: text.strip() or "id"),
    title=HOSTILE.map(lambda text: text if text.strip() else "title"),
    summary=HOSTILE,
    content=HOSTILE,
    tags=st.lists(HOSTILE.filter(str.strip), max_size=3, unique=True).map(tuple),
    references=st.lists(HOSTILE.filter(str.strip), max_size=2, unique=True).map(tuple),
    aliases=st.lists(HOSTILE.filter(str.strip), max_size=2, unique=True).map(tuple),
    created_at=st.just(START),
    updated_at=st.just(datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)),
).map(lambda page: replace(page, aliases=tuple(a for a in page.aliases if a != page.title)))


@quick
@given(PAGES)
def test_page_survives_its_file(page: KnowledgePage):
    assert load(export_page(page)) == page


@quick
@given(PAGES)
def test_file_of_a_page_is_the_same_file_again(page: KnowledgePage):
    data = export_page(page)

    assert export_page(load(data)) == data


@quick
@given(HOSTILE)
def test_any_file_comes_back_byte_for_byte(text: str):
    """spec §7, issue 4: markdown import and export byte for byte."""
    assert export_page(load(text.encode())) == text.encode()


@quick
@given(HOSTILE, HOSTILE, st.sampled_from(["\n", "\r\n"]))
def test_any_head_comes_back_byte_for_byte(head: str, content: str, end: str):
    data = f"---{end}{head}{end}---{end}{content}".encode()

    assert export_page(load(data)) == data


@quick
@given(HOSTILE)
def test_any_file_survives_the_store(text: str):
    def there_and_back() -> bytes:
        wiki = KnowledgeStore("global:wiki", STORES.make(), clock=Ticking())
        stored = wiki.get_page(wiki.store_page(load(text.encode())).id)
        assert stored is not None
        return export_page(stored)

    data = text.encode()
    page = load(data)
    if page.id in page.references or len(page.id) > 200:
        return
    assert there_and_back() == data


FOREIGN = """---
title: Green tea   # a comment
tags: [drink, 日本]
rating: 5
links:
  - japan
---

Body --- with dashes
---
"""


def test_head_from_elsewhere_is_understood():
    page = load(FOREIGN.encode(), "Tea Notes.md")

    assert (page.id, page.title) == ("tea-notes", "Green tea")
    assert (page.tags, page.references) == (("drink", "日本"), ("japan",))
    assert page.content == "\nBody --- with dashes\n---\n"


def test_head_from_elsewhere_is_kept_while_it_is_true():
    page = load(FOREIGN.encode())
    edited = replace(page, content="new text", updated_at=datetime(2027, 1, 1, tzinfo=UTC))

    assert export_page(edited) == (FOREIGN.split("\nBody", maxsplit=1)[0] + "new text").encode()


def test_head_that_is_no_longer_true_is_written_anew_with_the_names_we_do_not_know():
    changed = replace(load(FOREIGN.encode()), title="Sencha")

    text = export_page(changed).decode()

    assert 'title: "Sencha"\n' in text
    assert 'rating: "5"\n' in text
    assert "# a comment" not in text
    assert load(text.encode()).title == "Sencha"


def test_head_that_names_its_time_is_written_anew_when_the_page_changes():
    page = load(b"---\ntitle: T\nupdated: 2026-01-05\n---\nx")
    assert page.updated_at == datetime(2026, 1, 5, tzinfo=UTC)

    later = replace(page, updated_at=datetime(2027, 1, 1, tzinfo=UTC))

    assert b'updated_at: "2027-01-01T00:00:00+00:00"' in export_page(later)


TITLES = [
    (b"# The heading #1\n\ntext", "The heading #1"),
    (b"text only", "notes"),
    (b"---\ntitle: ''\n---\n# H\n", "H"),
    (b"---\nsummary: s\n---\n", "notes"),
]


@for_each("data, title", TITLES)
def test_title_is_found(data: bytes, title: str):
    assert load(data).title == title


HEADLESS = [
    "---\njust a rule above\n",
    "---\n- a\n- list\n---\n",
    "---\n{broken\n---\n",
    "---\n[a]: list as a name\n---\n",
    "text\n---\ntitle: x\n---\n",
    "----\ntitle: x\n----\n",
    "---\n" + "[" * 5_000 + "\n---\n",
    "---\n" + "- " * 20_000 + "\n---\n",
    "---\ntitle: " + "x" * 70_000 + "\n---\n",
]


@for_each("text", HEADLESS, ids=range(len(HEADLESS)))
def test_what_is_no_head_is_content(text: str):
    assert split_header(text) == ("", text)


def test_head_may_end_the_file():
    page = load(b"---\ntitle: T\n---")

    assert (page.title, page.content) == ("T", "")
    assert export_page(page) == b"---\ntitle: T\n---"


def test_aliases_in_a_head_cost_no_more_than_they_weigh():
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    data = ("---\n" + "\n".join(lines) + "\n---\nbody").encode()

    assert export_page(load(data)) == data


def test_file_that_is_no_text_is_refused():
    with pytest.raises(InvalidInput, match=r"notes\.md"):
        load(b"\xff\xfe")


def test_file_is_named_after_the_page():
    assert build_file_name(KnowledgePage("Green Tea", "x")) == "green-tea.md"
