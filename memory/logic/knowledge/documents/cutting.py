"""Cut a block that is too long by itself: a table between rows, code between lines, a text between sentences."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from memory.logic.knowledge.documents.blocks import Block, BlockKind


# A full stop needs a space after it (3.14, example.com); a Chinese one doesn't.
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[。！？；…])[”’」』）]*")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
# The share of a piece that the head of a table may take; a longer one is not repeated, nor are its long names.
_HEAD_SHARE: Final = 3
_MAX_NAME: Final = 80


def cut_block(block: Block, target: int, limit: int) -> Iterator[Block]:
    """Yield the parts of a block, none of which is longer than the limit."""
    if len(block.text) <= (limit if block.kind is not BlockKind.TABLE else target):
        yield block
        return
    cut = _CUTTERS.get(block.kind, _cut_text)
    # A heading that had to be cut isn't one any more.
    kind = BlockKind.PARAGRAPH if block.kind is BlockKind.HEADING else block.kind
    yield from (Block(kind, text) for text in cut(block.text, target, limit))


def _cut_text(text: str, target: int, limit: int) -> Iterator[str]:
    lines = text.split("\n")
    pieces = (piece for line in lines for piece in _cut_line(line, limit))
    yield from _pack(pieces, "\n", target)


def _cut_line(line: str, limit: int) -> Iterator[str]:
    if len(line) <= limit:
        yield line
        return
    sentences = _split_after(_SENTENCE_END, line)
    parts = (part for sentence in sentences for part in _cut_words(sentence, limit))
    yield from _pack(parts, "", limit)


def _cut_words(sentence: str, limit: int) -> Iterator[str]:
    """Cut a sentence between words; a single word, such as a long address or a Chinese text, wherever it must be."""
    while len(sentence) > limit:
        end = sentence.rfind(" ", 1, limit + 1)
        end = end if end > 0 else limit
        yield sentence[:end]
        sentence = sentence[end:]
    yield sentence


def _cut_code(text: str, target: int, limit: int) -> Iterator[str]:
    """Yield parts that are code of the same language each."""
    first, *body, last = text.split("\n")
    room = limit - len(first) - len(last) - 2
    if room < limit // 2:
        yield from _cut_text(text, target, limit)
        return
    lines = (part for line in body for part in _cut_line(line, room))
    for part in _pack(lines, "\n", min(target, room)):
        yield f"{first}\n{part}\n{last}"


def _cut_table(text: str, target: int, limit: int) -> Iterator[str]:
    """Yield tables of whole rows, each with the head. A row that is too long for that becomes a list of its cells."""
    head, divider, *rows = text.split("\n")
    top = f"{head}\n{divider}\n"
    if len(top) > limit // _HEAD_SHARE:
        yield from _cut_text(head, target, limit)
        names = [name if len(name) <= _MAX_NAME else "" for name in _split_cells(head)]
        yield from _cut_text("\n".join(_list_cells(row, names) for row in rows), target, limit)
        return
    current: list[str] = []
    size = len(top)
    for row in rows:
        is_too_long = len(top) + len(row) > limit
        if current and (is_too_long or size + len(row) + 1 > target):
            yield top + "\n".join(current)
            current, size = [], len(top)
        if is_too_long:
            yield from _cut_text(_list_cells(row, _split_cells(head)), target, limit)
        else:
            current.append(row)
            size += len(row) + 1
    if current or not rows:
        yield (top + "\n".join(current)).rstrip("\n")


def _list_cells(row: str, names: Sequence[str]) -> str:
    cells = _split_cells(row)
    lines = []
    for number, cell in enumerate(cells):
        name = names[number] if number < len(names) else ""
        lines.append(f"- {name}: {cell}" if name else f"- {cell}")
    return "\n".join(line.rstrip() for line in lines if line != "- ")


def _split_cells(row: str) -> list[str]:
    row = row.strip().removeprefix("|")
    cells = [cell.strip() for cell in _CELL_END.split(row)]
    return (
        cells[:-1] if len(cells) > 1 and not cells[-1] else cells
    )  # after the last sign stands nothing


def _pack(parts: Iterable[str], between: str, target: int) -> Iterator[str]:
    """Join parts as long as the result is no longer than the target; a longer part stays alone."""
    current: list[str] = []
    size = 0
    for part in parts:
        if current and size + len(between) + len(part) > target:
            yield between.join(current)
            current, size = [], 0
        size += (len(between) if current else 0) + len(part)
        current.append(part)
    if current:
        yield between.join(current)


def _split_after(end: re.Pattern[str], text: str) -> list[str]:
    starts = [0, *(match.end() for match in end.finditer(text)), len(text)]
    return [text[start:stop] for start, stop in pairwise(starts) if stop > start]


_CUTTERS: Final[dict[BlockKind, Callable[[str, int, int], Iterator[str]]]] = {
    BlockKind.TABLE: _cut_table,
    BlockKind.CODE: _cut_code,
}
