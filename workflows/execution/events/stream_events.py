"""The events of a stream, as they are sent. Readers of the same run share them, so that each is encoded once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import dumps
from typing import Any

from workflows.engine.language.document import Json


# The item of a large event has only the first two of ["e", seq, name, data]; its row has the rest.
COMPLETE_ITEM = 4


@dataclass(frozen=True)
class StreamEvent:
    """An event of the stream; text has no sequence number."""

    name: str
    data: Json
    seq: int | None = None

    @cached_property
    def frame(self) -> bytes:
        """The event as a server-sent event. ``id:`` is its number, after which Last-Event-ID resumes."""
        data = dumps(self.data, ensure_ascii=False, separators=(",", ":"))
        id_line = "" if self.seq is None else f"id: {self.seq}\n"
        return f"{id_line}event: {self.name}\ndata: {data}\n\n".encode()


def read_stored_events(events: Iterable[Sequence[Any]]) -> list[StreamEvent]:
    """Return the events of a row; each is [seq, name, data]."""
    return [StreamEvent(name, data, seq) for seq, name, data in events]


def share_events(message: dict[str, Json]) -> dict[str, Json]:
    """Return the message of the bus with ["e", seq, StreamEvent] for each complete event, for all its readers."""
    items = [
        ["e", item[1], StreamEvent(item[2], item[3], item[1])]
        if item[0] == "e" and len(item) == COMPLETE_ITEM
        else item
        for item in message.get("items", ())
    ]
    return {**message, "items": items} if message else message
