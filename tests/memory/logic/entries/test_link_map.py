"""Memories that name each other: which links there are, and how they are drawn."""

from typing import Any

from memory.core.records import MemoryEntry
from memory.logic.entries.link_map import ROW_HEIGHT, EntryLink, LinkKind, draw_map, find_links


def entry(id_: str, **metadata: Any) -> MemoryEntry:
    return MemoryEntry(id_, "global:a", f"key-{id_}", value="text", metadata=metadata)


def test_links_are_by_key_or_id_and_each_kind_once() -> None:
    entries = [
        entry("a", related=["key-b", "key-gone"], supersedes="key-c"),
        entry("b", related=["key-a"], merged_from=[{"key": "key-d", "id": "d"}]),
        entry("c"),
        entry("d"),
    ]

    assert set(find_links(entries)) == {
        EntryLink("a", "b", LinkKind.RELATED),
        EntryLink("a", "c", LinkKind.SUPERSEDES),
        EntryLink("b", "d", LinkKind.MERGED),
    }
    assert len(find_links(entries)) == 3  # what relates to each other is one link


def test_metadata_somebody_wrote_by_hand_names_nobody() -> None:
    entries = [
        entry("a", related="key-b", supersedes=7, merged_from=[3, {"id": None}, {"key": "key-b"}]),
        entry("b", related=["key-b", None]),
    ]

    assert find_links(entries) == []


def test_drawing_leaves_out_the_unlinked_and_keeps_clusters_together() -> None:
    links = [
        EntryLink("a", "d", LinkKind.RELATED),
        EntryLink("c", "e", LinkKind.RELATED),
        EntryLink("d", "f", LinkKind.SUPERSEDES),
        EntryLink("a", "elsewhere", LinkKind.RELATED),
    ]

    drawing = draw_map(["a", "b", "c", "d", "e", "f"], links)

    assert [dot.id for dot in drawing.dots] == ["a", "d", "f", "c", "e"]
    assert [dot.y for dot in drawing.dots] == [ROW_HEIGHT // 2 + ROW_HEIGHT * n for n in range(5)]
    assert drawing.height == 5 * ROW_HEIGHT
    assert [arc.link for arc in drawing.arcs] == links[:3]
    assert len({arc.path for arc in drawing.arcs}) == 3
