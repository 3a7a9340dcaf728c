"""The text that a run has streamed so far, as segments that know their position among the events.

Tokens have no sequence number. For a reader who joins late, their order is given by the number of the last event
before a segment began and before it last grew.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from workflows.engine.language.document import Json


@dataclass(slots=True)
class Segment:
    """Text of one source inside one response node, without a break."""

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
    """The text of a run. It grows by chunks, is saved at most once a second, and is read by late subscribers."""

    segments: list[Segment] = field(default_factory=list)
    length: int = 0

    def add(self, node: str, source: str | None, text: str, seq: int) -> int:
        """Append a piece and return the offset at which it begins."""
        last = self.segments[-1] if self.segments else None
        if last is None or last.node != node or last.source != source:
            last = Segment(node, source, self.length, seq, seq)
            self.segments.append(last)
        offset = self.length
        last.pieces.append(text)
        last.length += count_units(text)
        last.grew_after = seq
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
