"""The text that a run has streamed so far, as segments with their position among the events.

Tokens have no sequence number, so each segment has the numbers of the last events before it began and before it last
grew: a reader who joins late places the text by them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from workflows.engine.language.document import Json


@dataclass(slots=True)
class Segment:
    """Consecutive text of one source inside one response node."""

    node: str
    source: str | None
    offset: int  # UTF-16 units of the run's text before this segment
    began_after: int  # sequence of the last event when it began
    grew_after: int  # sequence of the last event when it last grew
    pieces: list[str] = field(default_factory=list)
    length: int = 0

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def to_row(self) -> list[Json]:
        return [self.node, self.source, self.offset, self.began_after, self.grew_after, self.text]


@dataclass(slots=True)
class Transcript:
    """The text of a run, which grows by chunks and is saved at most once a second for readers who join late."""

    segments: list[Segment] = field(default_factory=list)
    length: int = 0

    def add(self, node: str, source: str | None, text: str, seq: int) -> int:
        """Append text that follows the event ``seq``, and return the offset at which it begins."""
        segment = self.segments[-1] if self.segments else None
        if segment is None or segment.node != node or segment.source != source:
            segment = Segment(node, source, self.length, seq, seq)
            self.segments.append(segment)
        offset = self.length
        segment.pieces.append(text)
        segment.length += count_units(text)
        segment.grew_after = seq
        self.length += count_units(text)
        return offset

    @property
    def text(self) -> str:
        return "".join(segment.text for segment in self.segments)

    def to_rows(self) -> list[list[Json]]:
        return [segment.to_row() for segment in self.segments]


def read_segments(rows: Iterable[list[Json]]) -> Iterator[Segment]:
    for node, source, offset, began, grew, text in rows:
        yield Segment(node, source, offset, began, grew, [text], count_units(text))


def count_units(text: str) -> int:
    """Count UTF-16 units, because browsers cut text at these offsets."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2


def cut_before(text: str, start: int) -> str:
    """Return the text from the given UTF-16 unit on."""
    if text.isascii():
        return text[start:]
    return text.encode("utf-16-le", "replace")[start * 2 :].decode("utf-16-le", "replace")
