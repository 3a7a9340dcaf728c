"""Bodies of moves between tiers. Unknown fields are refused."""

from typing import Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from config.http.openapi import Body, Limit, Offset
from memory.schemas.entries import EntryOut, entry_out
from memory.services import MovedEntries, PlannedMove
from memory.services.entries.forget import MAX_ENTRIES


MoveWord = Literal["approve", "reject", "promote", "quarantine"]
TierWord = Literal["quarantine", "working", "long_term"]


class EntryMoveIn(Body):
    """``to`` matters to approving alone: long-term memory unless it says working."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"move": "approve", "reason": "she said so"}}
    )

    move: MoveWord
    to: TierWord | None = None
    reason: str = Field("", max_length=500)


class MovesIn(EntryMoveIn):
    """Entries of one namespace, all or none. ``dry_run``: what would become of each, and nothing does."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "entries": ["01900000-0000-7000-8000-000000000001"],
                "move": "approve",
                "dry_run": True,
            }
        }
    )

    entries: list[UUID] = Field(min_length=1, max_length=MAX_ENTRIES)
    dry_run: bool = False


class QuarantineQuery(Body):
    namespace: str = Field(max_length=200)
    rejected: bool = False
    limit: Limit = 50
    offset: Offset = 0


class MovedOut(Body):
    """``change`` undoes it as one."""

    entries: list[EntryOut]
    change: UUID


class PlannedOut(Body):
    """``replaces`` is what is in use in the place it was meant for; ``problem``: why it can't be moved."""

    entry: EntryOut
    to: str
    replaces: EntryOut | None
    problem: str


class MovesOut(Body):
    """``planned`` in a dry run, otherwise the moved entries and the change that undoes it."""

    count: int
    entries: list[EntryOut] = []
    change: UUID | None = None
    planned: list[PlannedOut] = []


def moved_out(moved: MovedEntries) -> MovedOut:
    return MovedOut(entries=[entry_out(entry) for entry in moved.entries], change=moved.change_id)


def planned_out(move: PlannedMove) -> PlannedOut:
    return PlannedOut(
        entry=entry_out(move.entry),
        to=move.to,
        replaces=entry_out(move.replaces) if move.replaces else None,
        problem=move.problem,
    )
