"""Word-level differences between two versions of a value, inline or side by side.

Lines are compared first, then the words within changed lines. Scripts without spaces are compared
character by character. Large texts are compared more coarsely, so that a comparison takes seconds at most.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, takewhile
from operator import attrgetter
from typing import Final, Literal

from memory.core.records import Json
from memory.logic.entries.texts import get_single_text, split_words


SegmentKind = Literal["same", "removed", "added", "gap"]

CONTEXT_LENGTH: Final = 120  # unchanged characters that stay before and after a change
MAX_WORDS: Final = 4_000  # compared one by one; longer texts are compared by lines only
MAX_LINES: Final = 10_000  # more are one change, from the first line that differs to the last
# Above this many items, difflib ignores very frequent ones (spaces, say): with them it would take minutes.
AUTOJUNK_ABOVE: Final = 400
_MIN_SIMILARITY: Final = 0.4


@dataclass(frozen=True, slots=True)
class DiffSegment:
    """A part of a comparison. A gap replaces the middle of a long unchanged text."""

    kind: SegmentKind
    text: str


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Both versions with their differences marked; a side is None if the value is absent there."""

    before: tuple[DiffSegment, ...] | None
    after: tuple[DiffSegment, ...] | None


class _Absent:
    pass


ABSENT = _Absent()  # ``None`` is an ordinary JSON value


def diff_values(before: Json, after: Json) -> tuple[DiffSegment, ...]:
    """Compare two values in one sequence: strings as they are, any other value as indented JSON."""
    segments = _diff_texts(to_text(before), to_text(after))
    last = len(segments) - 1
    return tuple(
        shortened
        for index, segment in enumerate(segments)
        for shortened in _shorten_segment(segment, is_first=index == 0, is_last=index == last)
    )


def compare_sides(before: Json | _Absent, after: Json | _Absent) -> SideBySide:
    """Compare two values side by side. If they have little in common, each is marked as a whole."""
    if isinstance(before, _Absent) or isinstance(after, _Absent):
        return SideBySide(_render_unmarked(before), _render_unmarked(after))
    old, new = render_value(before), render_value(after)
    segments = _diff_texts(old, new)
    if old != new and _measure_similarity(segments) < _MIN_SIMILARITY:
        return SideBySide((DiffSegment("removed", old),), (DiffSegment("added", new),))
    return SideBySide(
        tuple(segment for segment in segments if segment.kind != "added"),
        tuple(segment for segment in segments if segment.kind != "removed"),
    )


def to_text(value: Json) -> str:
    """Return a string as it is, and any other value as indented JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def render_value(value: Json) -> str:
    """Render a value for reading: a string as it is, the members of an object one a line, deeper values as JSON."""
    if (text := get_editable_text(value)) is not None:
        return text
    if isinstance(value, dict) and value:
        return "\n".join(_format_members(value))
    return json.dumps(value, ensure_ascii=False, indent=2)


def get_editable_text(value: Json) -> str | None:
    """Return the string of a value that consists of one string only, at any depth."""
    return get_single_text(value) if _wraps_one_text(value) else None


def replace_text(value: Json, text: str) -> Json:
    """Return the value with its only string replaced."""
    if isinstance(value, dict):
        return {name: replace_text(member, text) for name, member in value.items()}
    if isinstance(value, list):
        return [replace_text(item, text) for item in value]
    return text


def _wraps_one_text(value: Json) -> bool:
    """Return whether the value is a string, or objects and lists that contain only one string."""
    if isinstance(value, dict):
        return len(value) == 1 and _wraps_one_text(next(iter(value.values())))
    if isinstance(value, list):
        return len(value) == 1 and _wraps_one_text(value[0])
    return isinstance(value, str)


def _format_members(value: dict[str, Json]) -> Iterator[str]:
    for name, member in value.items():
        if isinstance(member, list) and member and all(isinstance(item, str) for item in member):
            yield f"{name}:"
            yield from (f"– {item}" for item in member)
        else:
            text = member if isinstance(member, str) else json.dumps(member, ensure_ascii=False)
            yield f"{name}: {text}"


def _render_unmarked(value: Json | _Absent) -> tuple[DiffSegment, ...] | None:
    return None if isinstance(value, _Absent) else (DiffSegment("same", render_value(value)),)


def _measure_similarity(segments: Iterable[DiffSegment]) -> float:
    """Return the share of words that both sides have in common, from 0 to 1."""
    counts = Counter[str]()
    for segment in segments:
        counts["common" if segment.kind == "same" else "changed"] += len(split_words(segment.text))
    common = 2 * counts["common"]
    return common / (common + counts["changed"])


def _diff_texts(old: str, new: str) -> tuple[DiffSegment, ...]:
    return tuple(_join_neighbors(_diff_lines(old, new)))


def _diff_lines(old: str, new: str) -> Iterator[DiffSegment]:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if len(before) + len(after) > MAX_LINES:
        yield from _diff_ends(before, after)
        return
    for is_equal, removed, added in _align_parts(before, after):
        if is_equal:
            yield DiffSegment("same", removed)
        else:
            yield from _diff_words(removed, added)


def _diff_ends(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffSegment]:
    """Mark all lines between the first and the last difference as one change."""
    start = _count_equal(before, after)
    end = min(_count_equal(before[::-1], after[::-1]), min(len(before), len(after)) - start)
    yield DiffSegment("same", "".join(before[:start]))
    yield DiffSegment("removed", "".join(before[start : len(before) - end]))
    yield DiffSegment("added", "".join(after[start : len(after) - end]))
    yield DiffSegment("same", "".join(before[len(before) - end :]))


def _count_equal(before: Sequence[str], after: Sequence[str]) -> int:
    """Count the lines before the first difference."""
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _diff_words(old: str, new: str) -> Iterator[DiffSegment]:
    before, after = split_words(old), split_words(new)
    if len(before) + len(after) > MAX_WORDS:
        before, after = [old], [new]
    for is_equal, removed, added in _align_parts(before, after):
        yield DiffSegment("same" if is_equal else "removed", removed)
        if not is_equal:
            yield DiffSegment("added", added)


def _align_parts(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[bool, str, str]]:
    """Yield the corresponding parts of both sides in order, and whether they are equal."""
    has_junk = len(before) + len(after) > AUTOJUNK_ABOVE
    matcher = SequenceMatcher(a=before, b=after, autojunk=has_junk)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        yield tag == "equal", "".join(before[start:end]), "".join(after[new_start:new_end])


def _join_neighbors(segments: Iterable[DiffSegment]) -> Iterator[DiffSegment]:
    """Join neighboring segments of one kind, and leave out empty ones."""
    filled = (segment for segment in segments if segment.text)
    for kind, neighbors in groupby(filled, key=attrgetter("kind")):
        yield DiffSegment(kind, "".join(segment.text for segment in neighbors))


def _shorten_segment(
    segment: DiffSegment, *, is_first: bool, is_last: bool
) -> Iterator[DiffSegment]:
    """Replace the middle of a long unchanged text by a gap."""
    text = segment.text
    if segment.kind != "same" or len(text) <= 3 * CONTEXT_LENGTH:
        yield segment
        return
    if not is_first:
        yield DiffSegment("same", text[:CONTEXT_LENGTH])
    yield DiffSegment("gap", "…")
    if not is_last:
        yield DiffSegment("same", text[-CONTEXT_LENGTH:])
