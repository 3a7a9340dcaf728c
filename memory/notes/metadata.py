"""The metadata of a run: its goal, its to-dos, its stream. They expire after three days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from memory.core.errors import InvalidInput, NotFound
from memory.core.provider import NamespaceStore
from memory.core.records import Json, MemoryQuery, Source, StoreParams, Tier
from memory.core.scopes import METADATA_LIFETIME, build_metadata_namespace, get_stream_name
from memory.notes.notebook import Note, Notebook


METADATA_KEY = "run"


class TodoStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"  # a limit ended the run's agent before the to-do was done


@dataclass(frozen=True, slots=True)
class Todo:
    id: str
    content: str
    status: TodoStatus = TodoStatus.PENDING
    reason: str = ""  # of a skipped to-do

    def to_json(self) -> dict[str, Json]:
        reason = {"reason": self.reason} if self.reason else {}
        return {"id": self.id, "content": self.content, "status": self.status.value, **reason}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> "Todo":
        status, reason = TodoStatus(value["status"]), str(value.get("reason") or "")
        return cls(str(value["id"]), str(value["content"]), status, reason)


@dataclass(frozen=True, slots=True)
class RunMetadata:
    """The metadata of a run. ``notes`` has the unexpired notes, newest first, which ``Notebook`` stores."""

    run_id: str
    goal: str
    todos: tuple[Todo, ...] = ()
    notes: tuple[Note, ...] = ()
    stream_name: str = ""
    expires_at: datetime | None = None


def save_metadata(store: NamespaceStore, metadata: RunMetadata) -> None:
    """Replace the metadata of the run for another three days; raise InvalidInput if two to-dos have the same id."""
    if len({todo.id for todo in metadata.todos}) != len(metadata.todos):
        raise InvalidInput("todos: duplicate id.")
    store.store(
        StoreParams(
            namespace=build_metadata_namespace(metadata.run_id),
            key=METADATA_KEY,
            value={
                "id": metadata.run_id,
                "goal": metadata.goal,
                "todos": [todo.to_json() for todo in metadata.todos],
                "streamName": metadata.stream_name,
            },
            category="execution",
            tier=Tier.WORKING,
            ttl_seconds=METADATA_LIFETIME,
            source=Source(run_id=metadata.run_id),
        )
    )


class RunBook:
    """Reads and changes the metadata of runs in a store."""

    def __init__(self, store: NamespaceStore, notebook: Notebook) -> None:
        self._store = store
        self._notebook = notebook

    def save(self, metadata: RunMetadata) -> None:
        save_metadata(self._store, metadata)

    def get(self, run_id: str) -> RunMetadata | None:
        """Return the metadata of the run with its notes, or None if there are none or they have expired."""
        entries = self._store.recall(
            MemoryQuery(build_metadata_namespace(run_id), key=METADATA_KEY)
        )
        if not entries:
            return None
        value = entries[0].value
        return RunMetadata(
            run_id=run_id,
            goal=str(value["goal"]),
            todos=tuple(Todo.from_json(todo) for todo in value["todos"]),
            notes=tuple(self._notebook.list_notes(run_id)),
            stream_name=str(value["streamName"]),
            expires_at=entries[0].expires_at,
        )

    def set_todo(self, run_id: str, todo_id: str, status: TodoStatus) -> RunMetadata:
        """Set the status of a to-do and return the metadata; raise NotFound for an unknown run or to-do."""
        metadata = self.get(run_id)
        if metadata is None or all(todo.id != todo_id for todo in metadata.todos):
            raise NotFound(f"The run has no to-do {todo_id}.")
        todos = [replace(t, status=status) if t.id == todo_id else t for t in metadata.todos]
        changed = replace(metadata, todos=tuple(todos))
        self.save(changed)
        return changed


def save_todos(
    store: NamespaceStore,
    run_id: str,
    identity: Mapping[str, Json],
    goal: str,
    todos: Sequence[Mapping[str, Json]],
) -> None:
    """Save the goal and the todos of a run, with the stream of the workflows in its ``identity``."""
    has_stream = any(
        identity.get(name) for name in ("stream_name", "workflow_names", "workflow_id")
    )
    stream_name = get_stream_name(identity) if has_stream else ""
    items = tuple(map(Todo.from_json, todos))
    save_metadata(store, RunMetadata(run_id, goal, items, stream_name=stream_name))
