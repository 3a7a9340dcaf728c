"""Rows by a query that is put into SQL once: on the way of every recall and store, composing it anew costs
more than asking it."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import connection, models


M = TypeVar("M", bound=models.Model)


class Select(Generic[M]):
    """``SELECT`` of whole rows; ``rest`` is what follows FROM and the table, with ``%s`` for what is asked."""

    def __init__(self, model: type[M], rest: str) -> None:
        self._model = model
        self._rest = rest
        self._made: tuple[str, list[str], list[tuple[int, Callable[..., Any]]]] | None = None

    def all(self, *params: Any) -> list[M]:  # as psycopg takes them
        sql, names, converters = self._made or self._make()
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            rows = cursor.fetchall()
        found = []
        for row in rows:
            values = list(row)
            for at, convert in converters:
                values[at] = convert(values[at], None, connection)
            found.append(self._model.from_db(connection.alias, names, values))
        return found

    def one(self, *params: Any) -> M | None:
        """The first of them."""
        return next(iter(self.all(*params)), None)

    def _make(self) -> tuple[str, list[str], list[tuple[int, Callable[..., Any]]]]:
        fields = self._model._meta.concrete_fields
        quoted = ", ".join(f'"{field.column}"' for field in fields)
        table = self._model._meta.db_table
        self._made = (
            f'SELECT {quoted} FROM "{table}" {self._rest}',
            [field.attname for field in fields],
            [
                (at, convert)
                for at, field in enumerate(fields)
                for convert in field.get_db_converters(connection)
            ],
        )
        return self._made
