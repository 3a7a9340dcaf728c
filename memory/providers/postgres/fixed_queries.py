"""Queries with SQL that is composed once: composing it for each recall and store takes longer than running it."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from django.db import connection, models

from config.postgres.prepared import open_prepared_cursor
from memory.core.entry_codec import STATE
from memory.core.records import MemoryEntry, PromptUse, Source, Tier
from memory.models import Entry


M = TypeVar("M", bound=models.Model)

MAX_LIST_LENGTH: Final = 10  # of a parameter of a prepared statement

# Fetches the rows of a statement.
Fetch = Callable[[str, Sequence[Any] | Mapping[str, Any]], list[Any]]


class Select(Generic[M]):
    """A ``SELECT`` of whole rows. ``clauses`` follow FROM and the table, with ``%s`` for the parameters."""

    def __init__(self, model: type[M], clauses: str) -> None:
        self._rows = _RowBuilder(model)
        columns = ", ".join(f'"{column}"' for column in self._rows.columns)
        self._sql = f'SELECT {columns} FROM "{model._meta.db_table}" {clauses}'

    def fetch_all(self, *params: Any) -> list[M]:  # params that psycopg adapts
        with connection.cursor() as cursor:
            cursor.execute(self._sql, params)
            return [self._rows.build(row) for row in cursor.fetchall()]

    def fetch_one(self, *params: Any) -> M | None:
        """Return the first row, or None."""
        return next(iter(self.fetch_all(*params)), None)


class SelectEntries:
    """A ``SELECT`` of entries as records, each with the values of ``more`` columns.

    To build rows of the model first would take longer than the query. ``fetch`` is ``fetch_prepared`` where the
    clauses are few and need no plan for their parameters.
    """

    def __init__(self, clauses: str, *more: str, fetch: Fetch | None = None) -> None:
        self._fetch = fetch or fetch_rows
        columns = ", ".join(f'"{column}"' for column in (*_HEAD, *_SOURCE, *STATE, *more))
        self._sql = f'SELECT {columns} FROM "{Entry._meta.db_table}" {clauses}'

    def fetch_all(self, namespace: str, *params: Any) -> list[tuple[MemoryEntry, Sequence[Any]]]:
        """Return the entries, which the clauses select in the namespace of this name."""
        return [_read_entry(namespace, row) for row in self._fetch(self._sql, params)]


_HEAD: Final = ("id", "key", "created_at", "updated_at", "revision")
_SOURCE: Final = ("source_actor", "source_run", "source_node", "source_message", "source_rule")
_SOURCE_AT, _STATE_AT = len(_HEAD), len(_HEAD) + len(_SOURCE)
_MORE_AT = _STATE_AT + len(STATE)


def _read_entry(namespace: str, row: Sequence[Any]) -> tuple[MemoryEntry, Sequence[Any]]:
    pk, key, created_at, updated_at, revision = row[:_SOURCE_AT]
    state = dict(zip(STATE, row[_STATE_AT:_MORE_AT], strict=True))
    for name in ("value", "metadata"):
        state[name] = None if state[name] is None else json.loads(state[name])
    state["tier"], state["prompt_use"] = Tier(state["tier"]), PromptUse(state["prompt_use"])
    entry = MemoryEntry(
        id=str(pk),
        namespace=namespace,
        key=key,
        created_at=created_at,
        updated_at=updated_at,
        source=Source(*row[_SOURCE_AT:_STATE_AT]),
        revision=revision,
        **state,
    )
    return entry, row[_MORE_AT:]


def fetch_prepared(
    sql: str,
    params: Sequence[Any] | Mapping[str, Any],
    *,
    max_list_length: int = MAX_LIST_LENGTH,
) -> list[Any]:
    """Fetch the rows of a statement that the database plans once a connection.

    Such a plan is for lists of any length, and may compare each row with all of a long one. So a statement with a long list
    is planned for it.
    """
    values = params.values() if isinstance(params, Mapping) else params
    if any(isinstance(value, list) and len(value) > max_list_length for value in values):
        return fetch_rows(sql, params)
    with open_prepared_cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[Any] = cursor.fetchall()
    return rows


def fetch_rows(sql: str, params: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[Any] = cursor.fetchall()
    return rows


class FunctionCall(Generic[M]):
    """A call of a database function that returns a row of a model and further values.

    The database caches the plans of a function's statements, but plans other statements each time.
    """

    def __init__(self, call: str, row_column: str, model: type[M], *value_columns: str) -> None:
        """Compose the SQL. ``call`` is what ``build_call`` returns; ``row_column`` is the column with the model's row."""
        self._rows = _RowBuilder(model)
        self._value_count = len(value_columns)
        # Selecting the columns of the row by name would take longer than the function itself.
        columns = ", ".join(
            [f"(result.{row_column}).*", *(f"result.{name}" for name in value_columns)]
        )
        self._sql = f"SELECT {columns} FROM {call} AS result"

    def fetch_one(self, *params: Any) -> tuple[M | None, list[Any]]:
        """Return the instance, or None if the function returned no row, and the further values."""
        with connection.cursor() as cursor:
            cursor.execute(self._sql, params)
            row, result = cursor.fetchone(), cursor.pgresult
            count = len(row) - self._value_count
            # The columns come in the table's order, which depends on the migrations.
            order = self._rows.find_order(tuple(result.fname(index) for index in range(count)))
        row_values = [row[index] for index in order]
        is_found = row_values[self._rows.id_index] is not None
        return self._rows.build(row_values) if is_found else None, list(row[count:])


class _RowBuilder(Generic[M]):
    """Converts database rows to instances of a model."""

    def __init__(self, model: type[M]) -> None:
        fields = model._meta.concrete_fields
        self._model = model
        self._names = [field.attname for field in fields]
        self._converters: list[tuple[int, Callable[..., Any]]] | None = None
        self._orders: dict[tuple[bytes, ...], list[int]] = {}
        self.columns = [str(field.column) for field in fields]
        self.id_index = self._names.index("id")

    def find_order(self, names: tuple[bytes, ...]) -> list[int]:
        """Return, for each column of the model, its index among these names of result columns."""
        if names not in self._orders:
            self._orders[names] = [names.index(column.encode()) for column in self.columns]
        return self._orders[names]

    def build(self, values: Sequence[Any]) -> M:
        attributes = list(values)
        converters = self._list_converters() if self._converters is None else self._converters
        for index, convert in converters:
            attributes[index] = convert(attributes[index], None, connection)
        return self._model.from_db(connection.alias, self._names, attributes)

    def _list_converters(self) -> list[tuple[int, Callable[..., Any]]]:
        self._converters = [
            (index, convert)
            for index, field in enumerate(self._model._meta.concrete_fields)
            for convert in field.get_db_converters(connection)
        ]
        return self._converters


def encode_for_json(value: datetime | UUID) -> str:
    """Encode a value for JSON that the database reads. Times keep their microseconds, which Django's encoder cuts off."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
