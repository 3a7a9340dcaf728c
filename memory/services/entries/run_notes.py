"""Open the notes and the metadata of a run. The caller is the run itself, limited to these two namespaces."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from accounts.principals import load_run_principal
from config.ids import uuid7
from config.retry import retry_on_conflict
from memory.core.policy import NO_LIMITS
from memory.core.records import Json
from memory.core.scopes import build_metadata_namespace, build_notes_namespace, parse_namespace
from memory.notes.metadata import RunBook, RunMetadata, Todo, save_metadata
from memory.notes.notebook import Notebook
from memory.permissions import Verb
from memory.routing import find_external_provider
from memory.services.entries.forget import clear
from memory.services.gateway.caller import CallOrigin, MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.upkeep.run_notes import REASON
from memory.upkeep.run_notes import clear_run_notes as clear_in_postgres


MAX_GOAL_LENGTH = 4_000  # characters; a goal is usually one line, but a question may be a page long


_ACTIONS: Final[Mapping[Verb, str]] = {
    "view": "memory.recalled",
    "write": "memory.stored",
    "forget": "memory.cleared",
}


@contextmanager
def open_notebook(team_id: UUID, run_id: UUID | str, verb: Verb) -> Iterator[Notebook]:
    """Yield the run's notes, to read them ("view") or to add to them ("write")."""
    with _open_as_run(team_id, run_id, verb, build_notes_namespace(str(run_id))) as access:
        yield Notebook(access.open_store(), new_id=lambda: str(uuid7()))


@contextmanager
def open_run_book(team_id: UUID, run_id: UUID | str, verb: Verb) -> Iterator[RunBook]:
    """Yield the metadata of a run, together with its notes, which can only be read."""
    metadata_access = _open_as_run(team_id, run_id, verb, build_metadata_namespace(str(run_id)))
    with open_notebook(team_id, run_id, "view") as notebook, metadata_access as access:
        yield RunBook(access.open_store(), notebook)


@retry_on_conflict
def save_run_metadata(team_id: UUID, run_id: UUID | str, *, goal: str, stream: str) -> None:
    """Store the metadata of a run when it starts. The steps of the run add their todos later."""
    metadata = RunMetadata(str(run_id), goal[:MAX_GOAL_LENGTH], stream_name=stream)
    with _open_as_run(team_id, run_id, "write", build_metadata_namespace(str(run_id))) as access:
        access.detail["keys"] = 1
        save_metadata(access.open_store(), metadata)


@retry_on_conflict
def save_run_todos(
    team_id: UUID,
    run_id: UUID | str,
    *,
    goal: str,
    stream: str,
    todos: Sequence[Mapping[str, Json]],
) -> None:
    """Replace the goal and the todos of a run, and keep its stream if it has one."""
    with open_run_book(team_id, run_id, "write") as book:
        existing = book.get(str(run_id))
        book.save(
            RunMetadata(
                str(run_id),
                goal[:MAX_GOAL_LENGTH],
                tuple(map(Todo.from_json, todos)),
                stream_name=(existing and existing.stream_name) or stream,
            )
        )


def get_run_metadata(team_id: UUID, run_id: UUID | str) -> RunMetadata | None:
    """Return the metadata of a run with its notes. The caller has checked who may see the run."""
    with open_run_book(team_id, run_id, "view") as book:
        return book.get(str(run_id))


def clear_run_notes(team_id: UUID, run_id: UUID | str) -> int:
    """Clear the notes of an ended run and return their number, whichever provider stores them."""
    namespace = parse_namespace(build_notes_namespace(str(run_id)))
    if find_external_provider(team_id, namespace, NO_LIMITS) is None:
        return clear_in_postgres(team_id, run_id)
    return clear(_build_caller(team_id, run_id), namespace=namespace.text, reason=REASON).count


@contextmanager
def _open_as_run(
    team_id: UUID, run_id: UUID | str, verb: Verb, namespace: str
) -> Iterator[NamespaceAccess]:
    caller = _build_caller(team_id, run_id)
    with open_namespace(caller, verb, _ACTIONS[verb], namespace=namespace) as access:
        yield access


def _build_caller(team_id: UUID, run_id: UUID | str) -> MemoryCaller:
    run_text = str(run_id)
    principal = load_run_principal(run_id=UUID(run_text), team_id=team_id)
    return MemoryCaller(
        principal,
        team_id,
        identity={"run_id": run_text},
        origin=CallOrigin(run_id=run_text),
        reach=frozenset({build_notes_namespace(run_text), build_metadata_namespace(run_text)}),
        is_bookkeeping=True,
    )
