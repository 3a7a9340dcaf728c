"""Metadata filters as parameterised SQL: no string from a filter becomes part of the statement.

As in the in-memory provider, a comparison is true or false: SQL's unknown becomes false, so that ``$not`` negates it.
Keys are followed with ``->`` and a text operand, which reads members of objects only; ``#>`` would read a number as a
position in a list, unlike the in-memory provider.
"""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet

from memory.core.filters import And, Condition, Filter, Not, Or
from memory.core.records import Json
from memory.models import Entry, Revision


Sql = tuple[str, list[Any]]  # parameters are whatever psycopg adapts

# Columns that a filter reads like metadata of their names, unless the metadata has the name itself.
COLUMNS = frozenset(["category", "tier", "prompt_use"])
_SIGNS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

Rows = TypeVar("Rows", Entry, Revision)


def apply_filter(rows: QuerySet[Rows], filter_: Filter) -> QuerySet[Rows]:
    """Return the rows that pass the filter. A revision is tested by the state that it created."""
    sql, params = compile_filter(filter_)
    clause = sql.replace("memory_entry.", f"{rows.model._meta.db_table}.")
    return rows.extra(where=[clause], params=params)  # noqa: S610 - parameters, never text


def compile_filter(filter_: Filter) -> Sql:
    """Compile the filter to a condition with placeholders, and its parameters."""
    match filter_:
        case And(parts):
            return _join_parts(parts, " AND ", "TRUE")
        case Or(parts):
            return _join_parts(parts, " OR ", "FALSE")
        case Not(part):
            sql, params = compile_filter(part)
            return f"NOT ({sql})", params
        case Condition():
            return _compile_condition(filter_)


def _join_parts(parts: tuple[Filter, ...], word: str, empty: str) -> Sql:
    compiled_parts = [compile_filter(part) for part in parts]
    sql = word.join(f"({sql})" for sql, _ in compiled_parts) or empty
    return sql, [param for _, params in compiled_parts for param in params]


def _compile_condition(condition: Condition) -> Sql:
    field, path = _compile_path(condition.path)
    operand = condition.operand
    match condition.operator:
        case "$eq":
            return f"coalesce({field} = %s::jsonb, FALSE)", [*path, json.dumps(operand)]
        case "$ne":
            return f"NOT coalesce({field} = %s::jsonb, FALSE)", [*path, json.dumps(operand)]
        case "$in":
            values = [json.dumps(item) for item in operand]
            return f"coalesce({field} = ANY(%s::jsonb[]), FALSE)", [*path, values]
        case "$exists":
            return f"({field} IS NOT NULL) = %s", [*path, operand]
        case _:
            return _compile_comparison(field, path, _SIGNS[condition.operator], operand)


def _compile_path(path: Sequence[str]) -> Sql:
    """Compile the value at a path. Each row is searched for it, so no document is built that would hold the columns, too."""
    sql, params = "memory_entry.metadata -> %s::text", [path[0]]
    if path[0] in COLUMNS:
        sql = f"coalesce({sql}, to_jsonb(memory_entry.{path[0]}))"
    return f"({sql}{' -> %s::text' * (len(path) - 1)})", [*params, *path[1:]]


def _compile_comparison(field: str, path: list[Any], sign: str, operand: Json) -> Sql:
    """Compile an ordering comparison, with CASE because PostgreSQL may evaluate a cast before a test."""
    if isinstance(operand, str):
        kind, value = "string", f"({field} #>> '{{}}') COLLATE \"C\" {sign} %s"
        parameter: Any = operand
    else:
        kind, value = "number", f"({field} #>> '{{}}')::numeric {sign} %s::numeric"
        parameter = repr(operand)
    sql = f"CASE WHEN jsonb_typeof({field}) = '{kind}' THEN {value} ELSE FALSE END"
    return sql, [*path, *path, parameter]
