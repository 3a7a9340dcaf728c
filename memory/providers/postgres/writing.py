"""One write in one question: how a namespace stands before it, and all that it leaves.

Both are functions of the database, which keeps their plans (migration 0017). Called by ``rows``, which knows the rules.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from config.ids import uuid7
from memory.core.policy import MemorySecurityPolicy
from memory.models import Entry, Namespace
from memory.models.entries import Operation
from memory.providers.postgres.indexing import number_after
from memory.providers.postgres.quick import Call, plain


@dataclass(frozen=True, slots=True)
class Act:
    """Who changes something and why; the acts of one Change share its id."""

    operation: Operation
    at: datetime
    actor: str = ""
    reason: str = ""
    run_id: str = ""
    node_id: str = ""
    origin_key: str = ""
    change_id: UUID = field(default_factory=uuid7)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a write under ``key`` has to know of a locked namespace. ``is_over``: something is to be retired first."""

    key: str
    entry: Entry | None
    is_repeated: bool  # the very step that wrote the newest revision does it again after a crash
    is_over: bool
    next_number: int


@dataclass(frozen=True, slots=True)
class Room:
    """What is taken of it; less than nothing: given back."""

    entries: int
    size: int


def claimed(namespace: Namespace, key: str, act: Act) -> Standing | None:
    """How it stands once it is locked, and who takes part then; nothing if it is gone."""
    asked = (namespace.team_id, namespace.pk, key, *_step(act))
    entry, (taking_part, *values) = _CLAIM.one(*asked)
    if taking_part is None:
        return None
    namespace.participants = taking_part
    return _standing_of(key, entry, values)


def standing_in(namespace: Namespace, key: str, act: Act) -> Standing:
    return _standing_of(key, *_STANDING.one(namespace.team_id, namespace.pk, key, *_step(act)))


def is_stored(
    entry: Entry, act: Act, room: Room, policy: MemorySecurityPolicy, postings: Sequence[str]
) -> bool:
    """Counts, entry, revision and postings; nothing at all where there is no room."""
    limits = (policy.max_entries_per_namespace, policy.max_namespace_bytes)
    is_new = entry.revision == 1
    params = (room.entries, room.size, *limits, is_new, _json(entry), _json_of_act(act), *postings)
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, params)
        stored: bool = cursor.fetchone()[0]
    entry._state.adding, entry._state.db = not stored, connection.alias
    return stored


_OF_STANDING: Final = ("is_repeated", "is_over", "last_block", "last_size")
_STANDING = Call("memory_standing(%s, %s, %s, %s, %s, %s, %s)", "entry", Entry, *_OF_STANDING)
_CLAIM = Call(
    "memory_claim(%s, %s, %s, %s, %s, %s, %s)", "entry", Entry, "taking_part", *_OF_STANDING
)
_WRITE: Final = f"SELECT memory_write({', '.join(['%s'] * 15)})"
_ENTRY: Final = [one.attname for one in Entry._meta.concrete_fields]
_OF_ACT: Final = (
    "operation",
    "actor",
    "reason",
    "run_id",
    "node_id",
    "origin_key",
    "change_id",
    "at",
)


def _step(act: Act) -> tuple[object, ...]:
    return act.at, act.run_id, act.node_id, act.origin_key


def _standing_of(key: str, entry: Entry | None, values: Sequence[Any]) -> Standing:
    is_repeated, is_over, *last = values
    return Standing(key, entry, is_repeated, is_over, 0 if last[0] is None else number_after(*last))


def _json(entry: Entry) -> str:
    return json.dumps({name: getattr(entry, name) for name in _ENTRY}, default=plain)


def _json_of_act(act: Act) -> str:
    said = {name: getattr(act, name) for name in _OF_ACT}
    return json.dumps({"id": uuid7(), **said}, default=plain)
