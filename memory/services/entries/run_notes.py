"""A run's notes and what it is about, as the run itself, which reaches nothing else here."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from accounts.principals import load_run_principal
from config.ids import uuid7
from config.retry import retry_on_conflict
from memory.core.policy import NO_LIMITS
from memory.core.scopes import metadata_namespace, notes_namespace, parse_namespace
from memory.notes.metadata import RunBook, RunMetadata, save_metadata
from memory.notes.notebook import Notebook
from memory.permissions import Verb
from memory.routing import find_external_provider
from memory.services.entries.forget import clear
from memory.services.gateway.caller import CallOrigin, MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.upkeep.run_notes import REASON
from memory.upkeep.run_notes import clear_run_notes as clear_in_postgres


__all__ = ["clear_run_notes", "open_notebook", "open_run_book", "write_run_down"]

LONGEST_GOAL = 4_000  # characters; a goal is a sentence, a question may be a page


@contextmanager
def open_notebook(team_id: UUID, run_id: UUID | str, verb: Verb) -> Iterator[Notebook]:
    """Open the run's notes to read ("view") or to add to them ("write")."""
    with _open(team_id, run_id, verb, notes_namespace(str(run_id))) as access:
        yield Notebook(access.store(), new_id=lambda: str(uuid7()))


@contextmanager
def open_run_book(team_id: UUID, run_id: UUID | str, verb: Verb) -> Iterator[RunBook]:
    """Open what a run is about, with its notes."""
    about = _open(team_id, run_id, verb, metadata_namespace(str(run_id)))
    with open_notebook(team_id, run_id, "view") as notebook, about as access:
        yield RunBook(access.store(), notebook)


@retry_on_conflict
def write_run_down(team_id: UUID, run_id: UUID | str, *, goal: str, stream: str) -> None:
    """Store what a run is about, when it begins. What it has to do, its steps add."""
    about = RunMetadata(str(run_id), goal[:LONGEST_GOAL], stream_name=stream)
    with _open(team_id, run_id, "write", metadata_namespace(str(run_id))) as access:
        access.detail["keys"] = 1
        save_metadata(access.store(), about)


def clear_run_notes(team_id: UUID, run_id: UUID | str) -> int:
    """When a run has ended: its notes go, wherever they are kept."""
    named = parse_namespace(notes_namespace(str(run_id)))
    if find_external_provider(team_id, named, NO_LIMITS) is None:
        return clear_in_postgres(team_id, run_id)
    return clear(_caller(team_id, run_id), namespace=named.text, reason=REASON).count


@contextmanager
def _open(
    team_id: UUID, run_id: UUID | str, verb: Verb, namespace: str
) -> Iterator[NamespaceAccess]:
    action = _ACTIONS[verb]
    gateway = MemoryGateway(_caller(team_id, run_id))
    with gateway.open_namespace(verb, action, namespace=namespace) as access:
        yield access


_ACTIONS: Final[Mapping[Verb, str]] = {
    "view": "memory.recalled",
    "write": "memory.stored",
    "forget": "memory.cleared",
}


def _caller(team_id: UUID, run_id: UUID | str) -> MemoryCaller:
    named = str(run_id)
    principal = load_run_principal(run_id=UUID(named), team_id=team_id)
    return MemoryCaller(
        principal,
        team_id,
        identity={"run_id": named},
        origin=CallOrigin(run_id=named),
        reach=frozenset({notes_namespace(named), metadata_namespace(named)}),
    )
