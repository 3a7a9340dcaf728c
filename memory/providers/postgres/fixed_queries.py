"""Rows by a query that is put into SQL once: on the way of every recall and store, composing it anew costs
more than asking it."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db import connection, models


M = TypeVar("M", bound=models.Model)


class Select(Generic[M]):
    """``SELECT`` of whole rows; ``rest`` is what follows FROM and the table, with ``%s`` for what is asked."""

    def __init__(self, model: type[M], rest: str) -> None:
        self._rows = _Rows(model)
        columns = ", ".join(f'"{column}"' for column in self._rows.columns)
        self._sql = f'SELECT {columns} FROM "{model._meta.db_table}" {rest}'

    def all(self, *params: Any) -> list[M]:  # as psycopg takes them
        with connection.cursor() as cursor:
            cursor.execute(self._sql, params)
            return [self._rows.made_of(row) for row in cursor.fetchall()]

    def one(self, *params: Any) -> M | None:
        """The first of them."""
        return next(iter(self.all(*params)), None)


class Call(Generic[M]):
    """What a function of the database gives: a row of a model, and values besides.

    The database keeps the plans of what is asked in a function, which it makes anew for every other statement.
    """

    def __init__(self, call: str, row: str, model: type[M], *values: str) -> None:
        """``call`` is what ``named_call`` returns; ``row`` is its composite column, ``values`` are others."""
        self._rows = _Rows(model)
        self._values = len(values)
        # Named one by one the columns of a composite cost more than all that the function does.
        columns = ", ".join([f"(result.{row}).*", *(f"result.{value}" for value in values)])
        self._sql = f"SELECT {columns} FROM {call} AS result"

    def one(self, *params: Any) -> tuple[M | None, list[Any]]:
        """The row, or nothing in its place where there is none; and the values."""
        with connection.cursor() as cursor:
            cursor.execute(self._sql, params)
            row = cursor.fetchone()
            order = self._rows.order_in(_names(cursor, len(row) - self._values))
        found = [row[at] for at in order]
        values = list(row[len(row) - self._values :])
        return (None if found[self._rows.id_at] is None else self._rows.made_of(found)), values


def _names(cursor: Any, count: int) -> tuple[bytes, ...]:
    """Return the column names as the table has them now, in whatever order migrations put them there."""
    result = cursor.pgresult
    return tuple(result.fname(at) for at in range(count))


class _Rows(Generic[M]):
    """Columns of a model, and rows made of them."""

    def __init__(self, model: type[M]) -> None:
        fields = model._meta.concrete_fields
        self._model = model
        self._names = [field.attname for field in fields]
        self._converters: list[tuple[int, Callable[..., Any]]] | None = None
        self._orders: dict[tuple[bytes, ...], list[int]] = {}
        self.columns = [str(field.column) for field in fields]
        self.id_at = self._names.index("id")

    def order_in(self, names: tuple[bytes, ...]) -> list[int]:
        """Return the index of each column among these names."""
        if names not in self._orders:
            self._orders[names] = [names.index(column.encode()) for column in self.columns]
        return self._orders[names]

    def made_of(self, values: Sequence[Any]) -> M:
        found = list(values)
        converters = self._make() if self._converters is None else self._converters
        for at, convert in converters:
            found[at] = convert(found[at], None, connection)
        return self._model.from_db(connection.alias, self._names, found)

    def _make(self) -> list[tuple[int, Callable[..., Any]]]:
        self._converters = [
            (at, convert)
            for at, field in enumerate(self._model._meta.concrete_fields)
            for convert in field.get_db_converters(connection)
        ]
        return self._converters


def plain(value: datetime | UUID) -> str:
    """For JSON on its way to the database: moments to the microsecond, which Django's encoder would cut off."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
