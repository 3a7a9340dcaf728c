"""A drawing of entries that link to each other: a row for each, and arcs between the rows.

Linked entries are in neighboring rows, and no labels overlap, on narrow screens as well.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.core.records import MemoryEntry


ROW_HEIGHT, ARCS_WIDTH = 36, 132  # pixels
_INSET = 10


class LinkKind(StrEnum):
    RELATED = "related"  # of different tasks about one subject
    SUPERSEDES = "supersedes"  # replaced the other
    MERGED = "merged_from"  # contains the other


@dataclass(frozen=True, slots=True)
class EntryLink:
    """A link between two entries; ``source`` and ``target`` are their ids."""

    source: str
    target: str
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class Dot:
    id: str
    y: int


@dataclass(frozen=True, slots=True)
class Arc:
    link: EntryLink
    path: str


@dataclass(frozen=True, slots=True)
class LinkMap:
    dots: tuple[Dot, ...]
    arcs: tuple[Arc, ...]
    height: int


def list_references(entry: MemoryEntry) -> Iterator[tuple[LinkKind, str]]:
    """Yield the kind of each link in the metadata with a key or id of the linked entry; skip malformed metadata."""
    merged = entry.metadata.get("merged_from")
    sources = merged if isinstance(merged, list | tuple) else ()
    names = {
        LinkKind.RELATED: entry.metadata.get("related"),
        LinkKind.SUPERSEDES: [entry.metadata.get("supersedes")],
        LinkKind.MERGED: [item.get("id") for item in sources if isinstance(item, Mapping)],
    }
    for kind, values in names.items():
        if isinstance(values, list | tuple):
            yield from ((kind, value) for value in values if isinstance(value, str))


def find_links(entries: Sequence[MemoryEntry]) -> list[EntryLink]:
    """Return the links between these entries. Two related entries have one link, even if each names the other."""
    by_name = {entry.key: entry.id for entry in reversed(entries)}
    by_name |= {entry.id: entry.id for entry in entries}
    links: dict[tuple[str, str, LinkKind], EntryLink] = {}
    for entry in entries:
        for kind, name in list_references(entry):
            target = by_name.get(name)
            if target is None or target == entry.id:
                continue
            ends = (entry.id, target)
            if kind is LinkKind.RELATED:
                ends = (min(ends), max(ends))
            links.setdefault((*ends, kind), EntryLink(*ends, kind))
    return list(links.values())


def draw_map(ids: Sequence[str], links: Iterable[EntryLink]) -> LinkMap:
    """Lay out the linked entries in the given order, with each cluster at the place of its first entry."""
    visible = [link for link in links if link.source in ids and link.target in ids]
    ordered = _order_by_cluster(ids, visible)
    rows = {id_: number for number, id_ in enumerate(ordered)}
    dots = tuple(Dot(id_, _compute_y(rows[id_])) for id_ in ordered)
    arcs = tuple(Arc(link, _draw_arc(rows[link.source], rows[link.target])) for link in visible)
    return LinkMap(dots, arcs, ROW_HEIGHT * len(ordered))


def _order_by_cluster(ids: Sequence[str], links: Sequence[EntryLink]) -> list[str]:
    neighbors: dict[str, list[str]] = {}
    for link in links:
        neighbors.setdefault(link.source, []).append(link.target)
        neighbors.setdefault(link.target, []).append(link.source)
    positions = {id_: number for number, id_ in enumerate(ids)}
    ordered: dict[str, None] = {}
    for id_ in ids:
        stack = [id_] if id_ in neighbors else []
        while stack:
            current = stack.pop()
            if current not in ordered:
                ordered[current] = None
                stack += sorted(neighbors[current], key=positions.__getitem__, reverse=True)
    return list(ordered)


def _compute_y(row: int) -> int:
    return ROW_HEIGHT * row + ROW_HEIGHT // 2


def _draw_arc(first: int, second: int) -> str:
    """Return the SVG path between two rows; it is wider the further they are apart."""
    x = ARCS_WIDTH - _INSET
    bend = x - min(ARCS_WIDTH - 2 * _INSET, 24 + 12 * abs(first - second))
    start, end = _compute_y(first), _compute_y(second)
    return f"M{x} {start}C{bend} {start} {bend} {end} {x} {end}"
