"""One write in two statements: the state of the namespace before it, and everything that it leaves.

Both are functions of the database, which keeps their plans (memory/sql/). Called by ``rows``, which knows the rules.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from config.ids import uuid7
from config.sql import named_call
from memory.core.policy import MemorySecurityPolicy
from memory.models import Entry, Namespace
from memory.models.entries import Operation
from memory.providers.postgres.indexing import number_after
from memory.providers.postgres.fixed_queries import Call, plain


@dataclass(frozen=True, slots=True)
class Act:
    """The actor, the reason and the origin of a change. Acts of one Change share its id."""

    operation: Operation
    at: datetime
    actor: str = ""
    reason: str = ""
    run_id: str = ""
    node_id: str = ""
    origin_key: str = ""
    change_id: UUID = field(default_factory=uuid7)


@dataclass(frozen=True, slots=True)
class WriteState:
    """The state of a locked namespace that a write under ``key`` needs."""

    key: str
    entry: Entry | None
    is_repeated: bool  # the very step that wrote the newest revision does it again after a crash
    has_expired: bool  # some entries have to be retired first
    next_number: int


@dataclass(frozen=True, slots=True)
class Room:
    """Room that a write takes; a negative number is given back."""

    entries: int
    size: int


def lock_for_write(namespace: Namespace, key: str, act: Act) -> WriteState | None:
    """Lock the namespace, refresh its participants and return its state; None if it is gone."""
    entry, (participants, *values) = _LOCK.one(*_arguments(namespace, key, act))
    if participants is None:
        return None
    namespace.participants = participants
    return _state(key, entry, values)


def state_before_write(namespace: Namespace, key: str, act: Act) -> WriteState:
    return _state(key, *_STATE.one(*_arguments(namespace, key, act)))


def write_entry(
    entry: Entry, act: Act, room: Room, policy: MemorySecurityPolicy, postings: str | None
) -> bool:
    """Write counts, entry, revision and postings; return False, having written nothing, if there is no room."""
    limits = (policy.max_entries_per_namespace, policy.max_namespace_bytes)
    written = (_entry_json(entry), _revision_json(entry, act), postings)
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, (*written, room.entries, room.size, *limits))
        is_written: bool = cursor.fetchone()[0]
    entry._state.adding, entry._state.db = not is_written, connection.alias
    return is_written


_ARGUMENTS: Final = ("p_team", "p_namespace", "p_key", "p_at", "p_run", "p_node", "p_step")
_VALUES: Final = ("is_repeated", "has_expired", "last_block", "last_size")
_STATE = Call(named_call("memory_state_before_write", *_ARGUMENTS), "entry", Entry, *_VALUES)
_LOCK = Call(
    named_call("memory_lock_for_write", *_ARGUMENTS), "entry", Entry, "participants", *_VALUES
)
_WRITE: Final = "SELECT " + named_call(
    "memory_write_entry",
    *("p_entry", "p_revision", "p_postings"),
    *("p_more_entries", "p_more_bytes", "p_max_entries", "p_max_bytes"),
)
_ENTRY_COLUMNS: Final = [column.attname for column in Entry._meta.concrete_fields]
_ACT_COLUMNS: Final = [column.name for column in fields(Act)]


def _arguments(namespace: Namespace, key: str, act: Act) -> tuple[object, ...]:
    step = (act.run_id, act.node_id, act.origin_key)
    return namespace.team_id, namespace.pk, key, act.at, *step


def _state(key: str, entry: Entry | None, values: Sequence[Any]) -> WriteState:
    is_repeated, has_expired, *last = values
    number = 0 if last[0] is None else number_after(*last)
    return WriteState(key, entry, is_repeated, has_expired, number)


def _entry_json(entry: Entry) -> str:
    return json.dumps({name: getattr(entry, name) for name in _ENTRY_COLUMNS}, default=plain)


def _revision_json(entry: Entry, act: Act) -> str:
    columns = {name: getattr(act, name) for name in _ACT_COLUMNS}
    columns |= {"id": uuid7(), "entry_id": entry.pk, "number": entry.revision}
    return json.dumps(columns, default=plain)
