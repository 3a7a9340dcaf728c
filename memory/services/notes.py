"""A run's notes and what it is about, through the door: as the run itself, which reaches nothing else here."""

from uuid import UUID

from accounts.principals import run_principal
from config.ids import uuid7
from memory.core.policy import NO_LIMITS
from memory.core.scopes import metadata_namespace, notes_namespace, parse_namespace
from memory.notes.metadata import RunBook, RunMetadata
from memory.notes.notebook import Notebook
from memory.places import elsewhere
from memory.services.as_provider import DoorEntries
from memory.services.caller import CallOrigin, MemoryCaller
from memory.services.forget import clear
from memory.upkeep.notes import WHY
from memory.upkeep.notes import clear_run_notes as clear_in_postgres


__all__ = ["book_of", "clear_run_notes", "notebook_of", "write_run_down"]

LONGEST_GOAL = 4_000  # characters; a goal is a sentence, a question may be a page


def notebook_of(team_id: UUID, run_id: UUID | str) -> Notebook:
    return Notebook(DoorEntries(_caller(team_id, run_id)), new_id=lambda: str(uuid7()))


def book_of(team_id: UUID, run_id: UUID | str) -> RunBook:
    return RunBook(DoorEntries(_caller(team_id, run_id)), notebook_of(team_id, run_id))


async def write_run_down(team_id: UUID, run_id: UUID | str, *, goal: str, stream: str) -> None:
    """What a run is about, when it begins. What it has to do, its steps add."""
    about = RunMetadata(str(run_id), goal[:LONGEST_GOAL], stream_name=stream)
    await book_of(team_id, run_id).save(about)


def clear_run_notes(team_id: UUID, run_id: UUID | str) -> int:
    """When a run has ended: its notes go, wherever they are kept."""
    named = parse_namespace(notes_namespace(str(run_id)))
    if elsewhere(team_id, named, NO_LIMITS) is None:
        return clear_in_postgres(team_id, run_id)
    return clear(_caller(team_id, run_id), namespace=named.text, reason=WHY).count


def _caller(team_id: UUID, run_id: UUID | str) -> MemoryCaller:
    named = str(run_id)
    principal = run_principal(run_id=UUID(named), team_id=team_id)
    return MemoryCaller(
        principal,
        team_id,
        identity={"run_id": named},
        origin=CallOrigin(run_id=named),
        reach=frozenset({notes_namespace(named), metadata_namespace(named)}),
    )
