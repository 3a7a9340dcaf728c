"""Divide a text into pieces, each about one section: long sections are divided at the ends of paragraphs, and tiny ones
joined with their neighbors.

No word is lost, and the order stays. A table is cut between two rows, and each part repeats its head.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memory.logic.knowledge.documents.blocks import Block, BlockKind, read_blocks
from memory.logic.knowledge.documents.cutting import cut_block


TARGET: Final = 1_200  # characters of a piece, if its paragraphs allow it
LIMIT: Final = 2_000  # of any piece
TINY: Final = 200  # a shorter section is joined with its neighbor
BETWEEN: Final = "\n\n"
DASH: Final = " – "


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a document. ``path`` has the headings above it, the outermost first.

    ``until`` is the last heading in a piece of several sections. ``part`` counts the pieces of one section, from 1.
    """

    path: tuple[str, ...]
    text: str
    until: str = ""
    part: int = 1

    @property
    def heading(self) -> str:
        """Return the path as a text, with the last heading of the piece if it has several."""
        own_heading = self.path[-1] if self.path else ""
        last = DASH.join(filter(None, (own_heading, self.until)))
        return " › ".join((*self.path[:-1], last)) if last else ""


@dataclass(slots=True)
class _Section:
    path: tuple[str, ...]
    blocks: list[Block]
    until: str = ""

    @property
    def size(self) -> int:
        texts = [block.text for block in self.blocks if block.text]
        return sum(map(len, texts)) + len(BETWEEN) * max(0, len(texts) - 1)


def divide(text: str, *, has_headings: bool = True) -> tuple[Piece, ...]:
    """Return the pieces of a text in their order. The same text always gives the same pieces."""
    sections = _join_tiny(_read_sections(read_blocks(text, has_headings=has_headings)))
    return tuple(piece for section in sections for piece in _divide_section(section))


def _read_sections(blocks: Iterable[Block]) -> list[_Section]:
    """Return the sections that have a text, each with its own heading."""
    sections = [_Section((), [])]
    above: list[tuple[int, str]] = []  # level and title of the open headings
    for block in blocks:
        if block.kind in (BlockKind.HEADING, BlockKind.PAGE):
            # A page of a PDF has no headings, and a heading that the text of one seems to have is only below it.
            level = 0 if block.kind is BlockKind.PAGE else block.level
            above = [item for item in above if item[0] < level]
            above.append((level, _shorten(block.title)))
            sections.append(_Section(tuple(title for _level, title in above), []))
        if block.text:
            sections[-1].blocks.append(block)
    return [section for section in sections if section.blocks]


def _join_tiny(sections: Sequence[_Section]) -> list[_Section]:
    """Join each tiny section with the one before it, or the one after it, as long as both are one piece."""
    joined: list[_Section] = []
    for section in sections:
        before = joined[-1] if joined else None
        if before is not None and _can_join(before, section):
            joined[-1] = _join(before, section)
        else:
            joined.append(section)
    return joined


def _can_join(first: _Section, second: _Section) -> bool:
    size = first.size + len(BETWEEN) + second.size
    if size > TARGET or min(first.size, second.size) >= TINY:
        return False
    if not first.path or _count_shared(first.path, second.path):
        return True
    return max(first.size, second.size) < TINY  # two chapters, or pages, with little text


def _join(first: _Section, second: _Section) -> _Section:
    has_text = any(block.kind is not BlockKind.HEADING for block in first.blocks)
    is_above = second.path[: len(first.path)] == first.path and not first.until
    if not first.path or (is_above and not has_text):  # before the first heading, or only a heading
        return _Section(second.path, [*first.blocks, *second.blocks], second.until)
    shared = _count_shared(first.path, second.path)
    if is_above:
        return _Section(first.path, [*first.blocks, *second.blocks])
    path = first.path[: shared + 1]
    until = second.path[min(shared, len(second.path) - 1)]
    return _Section(
        path, [*first.blocks, *second.blocks], first.until if until == path[-1] else until
    )


def _count_shared(first: Sequence[str], second: Sequence[str]) -> int:
    count = 0
    for name, other in zip(first, second, strict=False):
        if name != other:
            break
        count += 1
    return count


def _divide_section(section: _Section) -> Iterator[Piece]:
    texts = list(_fill(section.blocks))
    for part, text in enumerate(texts, start=1):
        yield Piece(section.path, text, section.until, part)


def _fill(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield texts of about the target's length. A heading stays with the text below it."""
    current: list[Block] = []
    size = 0
    parts = (part for block in blocks for part in cut_block(block, TARGET, LIMIT))
    for block in parts:
        added = size + len(BETWEEN) + len(block.text) if current else len(block.text)
        follows_heading = bool(current) and current[-1].kind is BlockKind.HEADING
        if current and added > (LIMIT if follows_heading else TARGET):
            yield BETWEEN.join(item.text for item in current)
            current, added = [], len(block.text)
        current.append(block)
        size = added
    if current:
        yield BETWEEN.join(item.text for item in current)


def _shorten(title: str) -> str:
    words = " ".join(title.split())
    return words if len(words) <= 80 else f"{words[:79].rstrip()}…"
