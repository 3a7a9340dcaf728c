"""The two statements of a write: one reads the namespace's state before the write, one writes every change.

Both are database functions (memory/sql/), because the database caches their plans. ``rows`` calls them and applies
the rules.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from config.ids import uuid7
from config.postgres.prepared import open_prepared_cursor
from config.sql import build_call
from memory.core.policy import MemorySecurityPolicy
from memory.models import Entry, Namespace
from memory.models.entries import Operation
from memory.providers.postgres.fixed_queries import FunctionCall, encode_for_json
from memory.providers.postgres.postings import compute_next_number
from memory.providers.postgres.vectors import SAVE_DUE


_ARGUMENTS: Final = ("p_team", "p_namespace", "p_key", "p_at", "p_run", "p_node", "p_step")
_VALUES: Final = ("is_repeated", "has_expired", "last_block", "last_size")
_STATE = FunctionCall(
    build_call("memory_state_before_write", *_ARGUMENTS), "entry", Entry, *_VALUES
)
_LOCK = FunctionCall(
    build_call("memory_lock_for_write", *_ARGUMENTS), "entry", Entry, "participants", *_VALUES
)
_WRITE: Final = "SELECT " + build_call(
    "memory_write_entry",
    *("p_entry", "p_revision", "p_postings"),
    *("p_more_entries", "p_more_bytes", "p_max_entries", "p_max_bytes"),
)
# What was not written has no vector.
_DUE: Final = SAVE_DUE.format(rows="CASE WHEN (TABLE written) THEN %s::jsonb END")
_WRITE_WITH_VECTOR: Final = (
    f"WITH written AS MATERIALIZED ({_WRITE}), due AS ({_DUE}) SELECT * FROM written"
)
_ENTRY_COLUMNS: Final = [column.attname for column in Entry._meta.concrete_fields]


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The operation, actor, reason and origin of a write. The writes of one change share ``change_id``."""

    operation: Operation
    at: datetime
    actor: str = ""
    reason: str = ""
    run_id: str = ""
    node_id: str = ""
    origin_key: str = ""
    change_id: UUID = field(default_factory=uuid7)


CONTEXT_COLUMNS: Final = [column.name for column in fields(WriteContext)]


@dataclass(frozen=True, slots=True)
class WriteState:
    """The state of a locked namespace that a write under ``key`` needs."""

    key: str
    entry: Entry | None
    is_repeated: bool  # the step that wrote the newest revision is repeated after a crash
    has_expired: bool  # expired entries have to be removed first
    next_number: int


@dataclass(frozen=True, slots=True)
class UsageChange:
    """The entries and bytes that a write adds to its namespace; a negative number frees space."""

    entries: int
    size: int


def lock_for_write(namespace: Namespace, key: str, context: WriteContext) -> WriteState | None:
    """Lock the namespace, refresh its participants and return its state, or None if the namespace was deleted."""
    entry, (participants, *values) = _LOCK.fetch_one(*_build_arguments(namespace, key, context))
    if participants is None:
        return None
    namespace.participants = participants
    return _build_state(key, entry, values)


def load_write_state(namespace: Namespace, key: str, context: WriteContext) -> WriteState:
    return _build_state(key, *_STATE.fetch_one(*_build_arguments(namespace, key, context)))


def write_entry(
    entry: Entry,
    context: WriteContext,
    usage: UsageChange,
    policy: MemorySecurityPolicy,
    postings: str | None,
    due: tuple[object, ...] | None = None,
) -> bool:
    """Write counts, entry, revision, postings and the vector that is ``due``, and return True.

    Without space write nothing and return False.
    """
    limits = (policy.max_entries_per_namespace, policy.max_namespace_bytes)
    documents = (_encode_entry(entry), _encode_revision(entry, context), postings)
    statement = _WRITE if due is None else _WRITE_WITH_VECTOR
    with open_prepared_cursor() as cursor:
        cursor.execute(statement, (*documents, usage.entries, usage.size, *limits, *(due or ())))
        is_written: bool = cursor.fetchone()[0]
    entry._state.adding, entry._state.db = not is_written, connection.alias
    return is_written


def _build_arguments(namespace: Namespace, key: str, context: WriteContext) -> tuple[object, ...]:
    step = (context.run_id, context.node_id, context.origin_key)
    return namespace.team_id, namespace.pk, key, context.at, *step


def _build_state(key: str, entry: Entry | None, values: Sequence[Any]) -> WriteState:
    is_repeated, has_expired, *last_row = values  # the last row of the register
    number = 0 if last_row[0] is None else compute_next_number(*last_row)
    return WriteState(key, entry, is_repeated, has_expired, number)


def _encode_entry(entry: Entry) -> str:
    return json.dumps(
        {name: getattr(entry, name) for name in _ENTRY_COLUMNS}, default=encode_for_json
    )


def _encode_revision(entry: Entry, context: WriteContext) -> str:
    columns = {name: getattr(context, name) for name in CONTEXT_COLUMNS}
    columns |= {"id": uuid7(), "entry_id": entry.pk, "number": entry.revision}
    return json.dumps(columns, default=encode_for_json)
