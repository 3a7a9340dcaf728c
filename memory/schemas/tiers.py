"""Bodies of moves between tiers. Unknown fields are refused."""

from typing import Literal
from uuid import UUID

from pydantic import Field

from config.http.openapi import Body, with_example
from memory.schemas.entries import EntryOut, entry_out
from memory.schemas.namespaces import NamespaceText
from memory.services import MovedEntries, PlannedMove
from memory.services.entries.forget import MAX_ENTRIES


MoveWord = Literal["approve", "reject", "promote", "quarantine"]
TierWord = Literal["quarantine", "working", "long_term"]


class EntryMoveIn(Body):
    """A move of an entry. Only an approval has ``to``: long-term memory (the default) or working memory."""

    model_config = with_example(move="approve", reason="she said so")

    move: MoveWord
    to: TierWord | None = None
    reason: str = Field("", max_length=500)


class MovesIn(EntryMoveIn):
    """Moves of entries of one namespace, all or none. With ``dry_run``, the moves are planned and nothing changes."""

    model_config = with_example(
        entries=["01900000-0000-7000-8000-000000000001"], move="approve", dry_run=True
    )

    entries: list[UUID] = Field(min_length=1, max_length=MAX_ENTRIES)
    dry_run: bool = False


class QuarantineQuery(Body):
    namespace: NamespaceText
    rejected: bool = False


class MovedOut(Body):
    """The moved entries; ``change`` undoes all moves together."""

    entries: list[EntryOut]
    change: UUID


class PlannedOut(Body):
    """A planned move: ``replaces`` is the entry in use with the same key, ``problem`` the reason against the move."""

    entry: EntryOut
    to: str
    replaces: EntryOut | None
    problem: str


class MovesOut(Body):
    """The planned moves of a dry run, otherwise the moved entries and the change that undoes the moves."""

    count: int
    entries: list[EntryOut] = []
    change: UUID | None = None
    planned: list[PlannedOut] = []


def moved_out(moved: MovedEntries) -> MovedOut:
    return MovedOut(entries=[entry_out(entry) for entry in moved.entries], change=moved.change_id)


def planned_out(move: PlannedMove) -> PlannedOut:
    return PlannedOut.from_object(
        move,
        entry=entry_out(move.entry),
        replaces=entry_out(move.replaces) if move.replaces else None,
    )
