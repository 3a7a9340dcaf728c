"""Divide the text of a document into headings, paragraphs, tables and code."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


PAGE_BREAK: Final = "\f"
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(```+|~~~+)")
_DIVIDER: Final = re.compile(r"\s*\|?(\s*:?-{3,}:?\s*\|)+\s*(:?-{3,}:?\s*)?")
# Under which a line of text is a heading.
_UNDERLINES: Final = {"=": 1, "-": 2}


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    TABLE = "table"  # the first two lines are its head
    CODE = "code"  # between two fences
    PAGE = "page"  # a page begins; it has no text


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the text that is cut only if it is too long by itself. ``title`` and ``level`` are those of a heading."""

    kind: BlockKind
    text: str
    title: str = ""
    level: int = 0


def read_blocks(text: str, *, has_headings: bool = True) -> Iterator[Block]:
    """Yield the blocks in their order; each non-blank line is in exactly one of them.

    Without ``has_headings`` a line such as ``# comment`` is a paragraph, as in YAML.
    """
    for number, page in enumerate(text.split(PAGE_BREAK), start=1):
        if PAGE_BREAK in text:
            yield Block(BlockKind.PAGE, "", title=f"p. {number}", level=1)
        lines = page.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        yield from _read_lines(lines, has_headings)


def _read_lines(lines: Sequence[str], has_headings: bool) -> Iterator[Block]:
    start = 0
    while start < len(lines):
        if not lines[start].strip():
            start += 1
            continue
        kind, end = _find_end(lines, start)
        heading = (
            _parse_heading(lines, start) if has_headings and kind is not BlockKind.CODE else None
        )
        if heading is not None:
            level, title, end = heading
            yield Block(BlockKind.HEADING, "\n".join(lines[start:end]), title, level)
        elif kind is BlockKind.PARAGRAPH:
            end = _find_paragraph_end(lines, start, has_headings)
            yield Block(kind, "\n".join(lines[start:end]))
        else:
            yield Block(kind, "\n".join(lines[start:end]))
        start = end


def _find_end(lines: Sequence[str], start: int) -> tuple[BlockKind, int]:
    """Return the kind of the block that begins here, and the line after it if it is code or a table."""
    if fence := _FENCE.match(lines[start]):
        mark = fence[1]
        for end in range(start + 1, len(lines)):
            if lines[end].strip().startswith(mark) and not lines[end].strip().strip(mark[0]):
                return BlockKind.CODE, end + 1
        return BlockKind.PARAGRAPH, start + 1  # a fence that is never closed
    if _is_table(lines, start):
        end = start + 2
        while end < len(lines) and lines[end].lstrip().startswith("|"):
            end += 1
        return BlockKind.TABLE, end
    return BlockKind.PARAGRAPH, start + 1


def _is_table(lines: Sequence[str], start: int) -> bool:
    has_head = lines[start].lstrip().startswith("|") and start + 1 < len(lines)
    return has_head and _DIVIDER.fullmatch(lines[start + 1]) is not None


def _parse_heading(lines: Sequence[str], start: int) -> tuple[int, str, int] | None:
    """Return the level and the title of a heading, and the line after it."""
    if match := _HEADING.fullmatch(lines[start]):
        return len(match[1]), match[2], start + 1
    below = lines[start + 1].strip() if start + 1 < len(lines) else ""
    is_underlined = len(below) >= 3 and below[0] in _UNDERLINES and not below.strip(below[0])
    if is_underlined and re.match(r" {0,3}[^\s|>*+-]", lines[start]):
        return _UNDERLINES[below[0]], lines[start].strip(), start + 2
    return None


def _find_paragraph_end(lines: Sequence[str], start: int, has_headings: bool) -> int:
    end = start + 1
    while end < len(lines) and lines[end].strip():
        if _FENCE.match(lines[end]) or _is_table(lines, end):
            break
        if has_headings and _HEADING.fullmatch(lines[end]):
            break
        end += 1
    return end
