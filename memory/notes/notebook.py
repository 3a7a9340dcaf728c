"""A run's notes: what one step writes for the next; they are deleted with the run.

Each step of the run reads the notes of earlier steps, newest first; no other run does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.core.errors import InvalidInput
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams, Tier
from memory.core.scopes import METADATA_LIFETIME, NOTES_LIFETIME, notes_namespace


@dataclass(frozen=True, slots=True)
class Note:
    """A note. ``source`` is the step that wrote it; ``time`` in milliseconds since 1970."""

    content: str
    source: str
    time: int
    temporary: bool = True

    def to_json(self) -> dict[str, Json]:
        return {
            "content": self.content,
            "source": self.source,
            "time": self.time,
            "temporary": self.temporary,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> "Note":
        return cls(
            str(value["content"]), str(value["source"]), int(value["time"]),
            bool(value["temporary"]),
        )  # fmt: skip


class Notebook:
    """The notes of runs.

    A temporary note can be read for thirty minutes, any other as long as the run's metadata; both end with the run.
    ``new_id`` returns unique names.
    """

    def __init__(
        self, entries: NamespaceStore, *, new_id: Callable[[], str], clock: Clock = utc_now
    ) -> None:
        self._entries = entries
        self._new_id = new_id
        self._clock = clock

    def store_note(
        self, run_id: str, content: str, source: str = "", *, temporary: bool = True
    ) -> Note:
        if not content.strip():
            raise InvalidInput("content: must not be empty.")
        note = Note(content, source, _milliseconds(self._clock()), temporary)
        self._entries.store(
            StoreParams(
                namespace=notes_namespace(run_id),
                key=f"note:{self._new_id()}",
                value=note.to_json(),
                category="note",
                tier=Tier.WORKING,
                ttl_seconds=NOTES_LIFETIME if temporary else METADATA_LIFETIME,
                source=Source(run_id=run_id, node_id=source),
            )
        )
        return note

    def get_notes(self, run_id: str) -> list[Note]:
        """Return the notes, newest first."""
        entries = self._entries.recall(
            MemoryQuery(notes_namespace(run_id), filter={"category": "note"})
        )
        return [Note.from_json(entry.value) for entry in entries if _is_note(entry)]

    def clear_notes(self, run_id: str) -> int:
        """Delete everything that the run noted, and return how many entries that were."""
        return self._entries.clear_namespace(notes_namespace(run_id))


def format_notes(notes: Sequence[Note]) -> str:
    """Number the notes for a step's prompt; no notes are an empty text."""
    return "\n".join(f"{number}. {note.content}" for number, note in enumerate(notes, start=1))


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _is_note(entry: MemoryEntry) -> bool:
    """Return whether the entry is a note, as a node may store others under the run's scope."""
    return isinstance(entry.value, Mapping) and entry.value.keys() >= {
        "content", "source", "time", "temporary",
    }  # fmt: skip
