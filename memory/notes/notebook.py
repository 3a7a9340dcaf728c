"""The notes of a run, which one step writes for later steps of the same run. They are deleted when the run ends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from memory.core.errors import InvalidInput
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.records import Json, MemoryEntry, MemoryQuery, Source, StoreParams, Tier
from memory.core.scopes import METADATA_LIFETIME, NOTES_LIFETIME, build_notes_namespace


_FIELDS = ("content", "source", "time", "temporary")


@dataclass(frozen=True, slots=True)
class Note:
    """A note. ``source`` is the id of the step that wrote it, ``time`` the number of milliseconds since 1970 (UTC)."""

    content: str
    source: str
    time: int
    temporary: bool = True

    def to_json(self) -> dict[str, Json]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> "Note":
        content, source, time, temporary = (value[name] for name in _FIELDS)
        return cls(str(content), str(source), int(time), bool(temporary))


class Notebook:
    """Stores and lists the notes of runs. ``new_id`` returns a unique id at each call.

    A temporary note expires after thirty minutes, any other after three days, like the metadata of the run.
    """

    def __init__(
        self, store: NamespaceStore, *, new_id: Callable[[], str], clock: Clock = utc_now
    ) -> None:
        self._store = store
        self._new_id = new_id
        self._clock = clock

    def store_note(
        self, run_id: str, content: str, step_id: str = "", *, temporary: bool = True
    ) -> Note:
        """Store a note of the step and return it; raise InvalidInput if it is empty."""
        if not content.strip():
            raise InvalidInput("content: must not be empty.")
        note = Note(content, step_id, round(self._clock().timestamp() * 1000), temporary)
        self._store.store(
            StoreParams(
                namespace=build_notes_namespace(run_id),
                key=f"note:{self._new_id()}",
                value=note.to_json(),
                category="note",
                tier=Tier.WORKING,
                ttl_seconds=NOTES_LIFETIME if temporary else METADATA_LIFETIME,
                source=Source(run_id=run_id, node_id=step_id),
            )
        )
        return note

    def list_notes(self, run_id: str) -> list[Note]:
        """Return the unexpired notes of the run, newest first."""
        query = MemoryQuery(build_notes_namespace(run_id), filter={"category": "note"})
        entries = self._store.recall(query)
        return [Note.from_json(entry.value) for entry in entries if _is_note(entry)]

    def clear_notes(self, run_id: str) -> int:
        """Delete all entries of the run's notes namespace, and return their number."""
        return self._store.clear_namespace(build_notes_namespace(run_id))


def format_notes(notes: Sequence[Note]) -> str:
    """Return the notes as a numbered list for a prompt, or an empty string without notes."""
    return "\n".join(f"{number}. {note.content}" for number, note in enumerate(notes, start=1))


def _is_note(entry: MemoryEntry) -> bool:
    """Return whether the entry is a note; nodes can store other entries in the run's scope."""
    return isinstance(entry.value, Mapping) and entry.value.keys() >= {*_FIELDS}
