"""Knowledge pages: kept, indexed, linked both ways, stale in time, merged rather than doubled."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.errors import AlreadyExists, InvalidInput, NotFound, Serialization
from memory.core.records import MemoryEntry, StoreParams
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_index import OutdatedReason, PageIndexEntry
from memory.logic.knowledge.page_merge import MatchReason, find_matching_page, merge_contents
from memory.logic.knowledge.pages import KnowledgePage, build_slug, from_entry, list_wiki_links
from memory.providers.base import MemoryProvider
from tests.memory.logic.support import STORES, Ticking, quick
from tests.support.cases import for_each


TEAM = "global:wiki"


def page(id_: str, title: str = "", **changes: Any) -> KnowledgePage:
    return replace(KnowledgePage(id_, title or id_.title()), **changes)


def store(entries: MemoryProvider | None = None, clock: Ticking | None = None) -> KnowledgeStore:
    clock = clock or Ticking()
    return KnowledgeStore(TEAM, entries or STORES.make(clock), clock=clock)


def when(one: KnowledgePage) -> datetime:
    assert one.updated_at is not None
    return one.updated_at


FULL = KnowledgePage(
    "deploy",
    "Deployment",
    summary="How we ship",
    content="# Steps\n\n1. build\n2. ship\n",
    tags=("ops", "release"),
    references=("build",),
    aliases=("Release process",),
)


def test_page_is_added_read_updated_and_deleted():
    """seed 4 §8: KnowledgeStore supports page CRUD."""
    wiki = store()

    added = wiki.add_page(FULL)
    assert wiki.get_page("deploy") == added
    assert replace(added, created_at=None, updated_at=None) == FULL

    changed = wiki.update_page(replace(added, title="Shipping"))
    assert changed.title == "Shipping"
    assert changed.created_at == added.created_at
    assert when(changed) > when(added)

    assert wiki.delete_page("deploy") is True
    assert wiki.get_page("deploy") is None
    assert wiki.delete_page("deploy") is False


def test_page_is_added_once_and_updated_only_where_it_is():
    wiki = store()
    wiki.add_page(page("a"))

    with pytest.raises(AlreadyExists):
        wiki.add_page(page("a"))
    with pytest.raises(NotFound):
        wiki.update_page(page("b"))
    with pytest.raises(NotFound):
        wiki.mark_checked("b")


@for_each("wrong", [page(""), page(" a"), page("a", " "), page("a", references=("a",))])
def test_page_that_makes_no_sense_is_refused(wrong: KnowledgePage):
    with pytest.raises(InvalidInput):
        store().add_page(wrong)


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["add", "update", "delete"]), st.sampled_from("abcd"), st.integers(0, 9)
    ),
    max_size=20,
)


@quick
@given(ACTS)
def test_index_is_always_in_step_with_the_pages(acts: list[tuple[str, str, int]]):
    """seed 4 §8 and F5: the index is kept on add, update and delete."""

    def live() -> None:
        wiki = store()
        kept: dict[str, KnowledgePage] = {}
        for act, name, number in acts:
            new = page(name, f"{name} {number}", tags=(f"t{number}",))
            match act:
                case "add" if name not in kept:
                    kept[name] = wiki.add_page(new)
                case "update" if name in kept:
                    kept[name] = wiki.update_page(new)
                case "delete":
                    assert wiki.delete_page(name) is (kept.pop(name, None) is not None)
            expected = [
                PageIndexEntry(one.id, one.title, one.summary, one.tags, one.updated_at)
                for one in sorted(kept.values(), key=lambda one: one.title)
            ]
            assert list(wiki.get_index()) == expected

    live()


def test_search_finds_by_title_summary_and_tags():
    """seed 4 F4: keywords in title, summary, tags; content is the retriever's."""
    wiki = store()
    wiki.add_page(FULL)
    wiki.add_page(
        page("tea", "Green tea", summary="How to brew", tags=("茶叶",), content="deployment")
    )

    assert [one.id for one in wiki.search("the deployments")] == ["deploy"]
    assert [one.id for one in wiki.search("how to ship")] == ["deploy"]
    assert [one.id for one in wiki.search("release")] == ["deploy"]
    assert [one.id for one in wiki.search("茶叶怎么泡")] == ["tea"]
    assert [one.id for one in wiki.search("brew and ship tea")] == ["tea", "deploy"]
    assert wiki.search("the of and") == []


def test_references_are_walked_both_ways():
    wiki = store()
    wiki.add_page(page("a", references=("b", "c")))
    wiki.add_page(page("b", content="see [[Page C|that one]] and [[c]], [[nowhere]], [[a]]"))
    wiki.add_page(page("c", "Page C", aliases=("sea",)))

    index = wiki.build_index()
    assert index.links == {"a": ("b", "c"), "b": ("c", "a"), "c": ()}
    assert index.backlinks == {"a": ("b",), "b": ("a",), "c": ("a", "b")}


def test_page_is_stale_once_what_it_refers_to_changed_or_vanished():
    wiki = store()
    wiki.add_page(page("b"))
    wiki.add_page(page("c"))
    wiki.add_page(page("a", references=("b", "c")))
    assert wiki.build_index().outdated == ()

    changed = wiki.update_page(page("b", "B again"))
    wiki.delete_page("c")

    marks = [
        (mark.page_id, mark.reference, mark.reason, mark.since)
        for mark in wiki.build_index().outdated
    ]
    assert marks == [
        ("a", "b", OutdatedReason.CHANGED, changed.updated_at),
        ("a", "c", OutdatedReason.VANISHED, None),
    ]


def test_confirming_a_page_clears_it_and_makes_nobody_else_stale():
    wiki = store()
    wiki.add_page(page("b"))
    wiki.add_page(page("a", references=("b",)))
    wiki.add_page(page("z", references=("a",)))
    wiki.update_page(page("b", "B again"))

    before = wiki.get_page("a")
    confirmed = wiki.mark_checked("a")

    assert wiki.build_index().outdated == ()
    assert before is not None
    assert confirmed.updated_at == before.updated_at
    with pytest.raises(NotFound):
        wiki.mark_checked("nobody")


def test_rewriting_a_stale_page_clears_it():
    wiki = store()
    wiki.add_page(page("b"))
    wiki.add_page(page("a", references=("b",)))
    wiki.update_page(page("b", "B again"))

    wiki.update_page(page("a", "A again", references=("b",)))

    assert wiki.build_index().outdated == ()


def test_old_states_of_a_page_stay_readable():
    wiki = store()
    wiki.add_page(page("a", "first"))
    wiki.update_page(page("a", "second"))

    past = wiki.list_revisions("a")

    assert [(one.title, one.revision) for one in past] == [("first", 1), ("second", 2)]


def test_other_memories_of_the_namespace_are_no_pages():
    entries = STORES.make()
    wiki = store(entries)
    entries.store(StoreParams(TEAM, "page:fake", value="no page at all"))
    entries.store(StoreParams(TEAM, "elsewhere", value={}, category="page"))

    assert wiki.list_pages() == []
    assert wiki.get_page("fake") is None


def test_entry_that_only_looks_like_a_page_is_refused_by_name():
    with pytest.raises(Serialization, match="page:x"):
        from_entry(MemoryEntry("1", TEAM, "page:x", value={"id": "x"}, category="page"))


COFFEE = "Grind the beans, heat water to 93 degrees, pour slowly, wait four minutes, then press."

TWINS: list[tuple[KnowledgePage, KnowledgePage, MatchReason | None]] = [
    (page("x", "green tea."), page("tea", "Green Tea"), MatchReason.TITLE),
    (page("x", "Sencha"), page("tea", "Green tea", aliases=("sencha",)), MatchReason.ALIAS),
    (page("x", "Sencha", aliases=("Green tea",)), page("tea", "Green tea"), MatchReason.ALIAS),
    (
        page("x", "Brewing", content=COFFEE),
        page("c", "Coffee", content=f"{COFFEE} "),
        MatchReason.CONTENT,
    ),
    (page("x", "Brewing", content=COFFEE[:40]), page("c", "Coffee", content=COFFEE), None),
    (page("x", "Black tea"), page("tea", "Green tea"), None),
    (page("x", "Same", content="short"), page("c", "Other", content="short"), None),
    (page("tea", "Green tea"), page("tea", "Green tea"), None),
]


@for_each("new, old, expected", TWINS)
def test_twin_is_seen(new: KnowledgePage, old: KnowledgePage, expected: MatchReason | None):
    found = find_matching_page(new, [old])

    assert (found and found.reason) == expected


def test_writing_merges_into_the_page_that_is_there():
    """spec §7: merging into the existing page rather than adding a twin."""
    wiki = store()
    wiki.add_page(page("tea", "Green tea", content="Steep at 80 degrees.", tags=("drink",)))
    new = page(
        "t2",
        "green tea!",
        content="steep at 80 degrees\n\nIt comes from Japan and China.",
        tags=("drink", "asia"),
        references=("tea", "japan"),
        aliases=("Sencha",),
    )

    written = wiki.merge_or_store(new)

    assert written.merged_for is MatchReason.TITLE
    [kept] = wiki.list_pages()
    assert kept == written.page
    assert kept.content == "Steep at 80 degrees.\n\nIt comes from Japan and China."
    assert (kept.id, kept.title, kept.revision) == ("tea", "Green tea", 2)
    assert (kept.tags, kept.references) == (("drink", "asia"), ("japan",))
    assert kept.aliases == ("green tea!", "Sencha")


def test_writing_something_else_adds_a_page_and_its_own_id_updates_it():
    wiki = store()

    assert (wiki.merge_or_store(page("a", "Tea"))).merged_for is None
    assert (wiki.merge_or_store(page("b", "Coffee"))).merged_for is None
    written = wiki.merge_or_store(page("b", "Strong coffee"))

    assert (written.page.title, written.page.revision) == ("Strong coffee", 2)
    assert len(wiki.list_pages()) == 2


def test_merging_content_keeps_everything_said_and_says_nothing_twice():
    old = "One fact here.\n\nAlice likes green tea from Japan\n"
    new = "Alice really likes green tea from Japan\n\nA new thing."

    assert merge_contents(old, new) == (
        "One fact here.\n\nAlice really likes green tea from Japan\n\nA new thing."
    )
    assert merge_contents(old, "One fact here!") == old
    assert merge_contents("", new) == new
    assert merge_contents(old, " \n") == old


def test_slug_is_a_name_of_any_script():
    assert build_slug("Über uns: Teil 2!") == "über-uns-teil-2"
    assert build_slug("绿茶 / 红茶") == "绿茶-红茶"
    assert build_slug("!!!") == "page"
    assert len(build_slug("x" * 500)) == 80


def test_wiki_links_are_found_in_order_once():
    assert list_wiki_links("[[b]] [[a|A]] [[ b ]] [no] [[]] [[x\ny]]") == ("b", "a")


def test_pages_of_two_moments_keep_their_order():
    clock = Ticking()
    wiki = store(clock=clock)
    first = wiki.add_page(page("a"))
    clock.now += timedelta(days=1)
    second = wiki.add_page(page("b"))

    assert when(second) - when(first) >= timedelta(days=1)
