"""Memories that name each other, as a drawing: a line each, and arcs between the lines.

Those that belong together stand together; nothing overlaps, however many there are, and on a narrow screen the
lines are as readable as on a wide one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.core.records import MemoryEntry


class LinkKind(StrEnum):
    RELATED = "related"  # of different tasks, and about the same
    SUPERSEDES = "supersedes"  # took the other's place
    MERGED = "merged_from"  # took the other in


@dataclass(frozen=True, slots=True)
class Linked:
    """``source`` and ``target`` are ids."""

    source: str
    target: str
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class Dot:
    id: str
    y: int


@dataclass(frozen=True, slots=True)
class Arc:
    link: Linked
    path: str


@dataclass(frozen=True, slots=True)
class LinkMap:
    dots: tuple[Dot, ...]
    arcs: tuple[Arc, ...]
    height: int


LINE, WIDTH = 36, 132  # pixels: a line's height, and the room of the arcs left of the lines
_INSET = 10


def named_in(entry: MemoryEntry) -> Iterator[tuple[LinkKind, str]]:
    """Keys of others, and ids where it says ids; what a hand wrote into the metadata wrongly names nobody."""
    for key in _texts(entry.metadata.get("related")):
        yield LinkKind.RELATED, key
    for key in _texts([entry.metadata.get("supersedes")]):
        yield LinkKind.SUPERSEDES, key
    merged = entry.metadata.get("merged_from")
    for one in merged if isinstance(merged, list | tuple) else ():
        if isinstance(one, Mapping):
            for found in _texts([one.get("id")]):
                yield LinkKind.MERGED, found


def links_among(entries: Sequence[MemoryEntry]) -> list[Linked]:
    """Between those that are there. What relates to each other is one link, whoever says so."""
    by_name = {entry.key: entry.id for entry in reversed(entries)}
    by_name |= {entry.id: entry.id for entry in entries}
    found: dict[tuple[str, str, LinkKind], Linked] = {}
    for entry in entries:
        for kind, name in named_in(entry):
            other = by_name.get(name)
            if other is None or other == entry.id:
                continue
            ends = (entry.id, other)
            if kind is LinkKind.RELATED:
                ends = (min(ends), max(ends))
            found.setdefault((*ends, kind), Linked(*ends, kind))
    return list(found.values())


def drawn(ids: Sequence[str], links: Iterable[Linked]) -> LinkMap:
    """In the order given, but that a cluster stays together where its first one stands. The unlinked are left out."""
    known = [link for link in links if link.source in ids and link.target in ids]
    ordered = _clustered(ids, known)
    row = {one: number for number, one in enumerate(ordered)}
    dots = tuple(Dot(one, _y(row[one])) for one in ordered)
    arcs = tuple(Arc(link, _arc(row[link.source], row[link.target])) for link in known)
    return LinkMap(dots, arcs, LINE * len(ordered))


def _clustered(ids: Sequence[str], links: Sequence[Linked]) -> list[str]:
    beside: dict[str, list[str]] = {}
    for link in links:
        beside.setdefault(link.source, []).append(link.target)
        beside.setdefault(link.target, []).append(link.source)
    place = {one: number for number, one in enumerate(ids)}
    ordered: dict[str, None] = {}
    for one in ids:
        todo = [one] if one in beside else []
        while todo:
            next_ = todo.pop()
            if next_ not in ordered:
                ordered[next_] = None
                todo += sorted(beside[next_], key=place.__getitem__, reverse=True)
    return list(ordered)


def _y(row: int) -> int:
    return LINE * row + LINE // 2


def _arc(one: int, other: int) -> str:
    """From line to line, the further apart the wider."""
    x = WIDTH - _INSET
    reach = x - min(WIDTH - 2 * _INSET, 24 + 12 * abs(one - other))
    return f"M{x} {_y(one)}C{reach} {_y(one)} {reach} {_y(other)} {x} {_y(other)}"


def _texts(value: object) -> list[str]:
    if not isinstance(value, list | tuple):
        return []
    return [one for one in value if isinstance(one, str)]
