"""What changed between two values, word by word: first which lines, then which words in them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from memory.core.records import Json
from memory.logic.entries.texts import cut


Sign = Literal["same", "gone", "new", "gap"]


@dataclass(frozen=True, slots=True)
class Piece:
    """``gap`` stands for what is the same and too long to be read again."""

    sign: Sign
    text: str


def pieces_between(before: Json, after: Json) -> tuple[Piece, ...]:
    """Texts as texts, anything else as indented JSON."""
    return _between(as_text(before), as_text(after))


def as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


AROUND: Final = 120  # characters of the same that stay before and after a change
MOST_WORDS: Final = 4_000  # to be compared one by one; more are told apart by lines
MOST_LINES: Final = 10_000  # more are one change, from the first that differs to the last
FEW: Final = (
    400  # among more, what stands everywhere (a space, say) is no landmark: that would take minutes
)


def _between(old: str, new: str) -> tuple[Piece, ...]:
    pieces = list(_joined(_pieces(old, new)))
    last = len(pieces) - 1
    return tuple(
        short
        for place, one in enumerate(pieces)
        for short in _shortened(one, is_first=place == 0, is_last=place == last)
    )


def _pieces(old: str, new: str) -> Iterator[Piece]:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if len(before) + len(after) > MOST_LINES:
        yield from _ends(before, after)
        return
    for tag, a, b, c, d in _steps(before, after):
        gone, came = "".join(before[a:b]), "".join(after[c:d])
        if tag == "equal":
            yield Piece("same", gone)
        else:
            yield from _words(gone, came)


def _ends(before: Sequence[str], after: Sequence[str]) -> Iterator[Piece]:
    first = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    rest = min(len(before), len(after)) - first
    backwards = zip(reversed(before), reversed(after), strict=False)
    last = next((n for n, (a, b) in enumerate(backwards) if a != b or n >= rest), rest)
    yield Piece("same", "".join(before[:first]))
    yield Piece("gone", "".join(before[first : len(before) - last]))
    yield Piece("new", "".join(after[first : len(after) - last]))
    yield Piece("same", "".join(before[len(before) - last :]))


def _words(old: str, new: str) -> Iterator[Piece]:
    before, after = cut(old), cut(new)
    if len(before) + len(after) > MOST_WORDS:
        before, after = [old], [new]
    for tag, a, b, c, d in _steps(before, after):
        if tag == "equal":
            yield Piece("same", "".join(before[a:b]))
            continue
        yield Piece("gone", "".join(before[a:b]))
        yield Piece("new", "".join(after[c:d]))


def _steps(before: Sequence[str], after: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    junk = len(before) + len(after) > FEW
    return SequenceMatcher(a=before, b=after, autojunk=junk).get_opcodes()


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Neighbours of one sign as one; a space between two changes belongs to both of them."""
    held: Piece | None = None
    for one in pieces:
        if not one.text:
            continue
        if held and held.sign == one.sign:
            held = Piece(held.sign, held.text + one.text)
            continue
        if held:
            yield held
        held = one
    if held:
        yield held


def _shortened(piece: Piece, *, is_first: bool, is_last: bool) -> Iterator[Piece]:
    text = piece.text
    if piece.sign != "same" or len(text) <= 3 * AROUND:
        yield piece
        return
    if not is_first:
        yield Piece("same", text[:AROUND])
    yield Piece("gap", "…")
    if not is_last:
        yield Piece("same", text[-AROUND:])
