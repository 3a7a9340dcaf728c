"""A metadata filter as parameterised SQL: nothing an author wrote becomes part of the statement.

Two-valued like the oracle: what SQL would call unknown is false, so that ``$not`` means not.
Keys are followed with ``->`` and a text operand, which steps into objects only; ``#>`` would take
a number for a position in a list, and the oracle doesn't.
"""

import json
from typing import Any, TypeVar

from django.db.models import QuerySet

from memory.core.filters import And, Condition, Filter, Not, Or
from memory.core.records import Json
from memory.models import Entry, Revision


Sql = tuple[str, list[Any]]  # parameters are whatever psycopg adapts

# The entry's own category and tier stand in where the metadata has no such key.
DOCUMENT = (
    "(jsonb_build_object('category', memory_entry.category, 'tier', memory_entry.tier)"
    " || memory_entry.metadata)"
)


Rows = TypeVar("Rows", Entry, Revision)


def narrowed(rows: QuerySet[Rows], filter_: Filter) -> QuerySet[Rows]:
    """The rows that pass; the filter is inside the query, before any limit. Of revisions: what they made of it."""
    sql, params = compiled(filter_)
    of_them = sql.replace("memory_entry.", f"{rows.model._meta.db_table}.")
    return rows.extra(where=[of_them], params=params)  # noqa: S610 - parameters, never text


def compiled(filter_: Filter) -> Sql:
    match filter_:
        case And(parts):
            return _joined(parts, " AND ", "TRUE")
        case Or(parts):
            return _joined(parts, " OR ", "FALSE")
        case Not(part):
            sql, params = compiled(part)
            return f"NOT ({sql})", params
        case Condition():
            return _condition(filter_)


def _joined(parts: tuple[Filter, ...], word: str, empty: str) -> Sql:
    compiled_parts = [compiled(part) for part in parts]
    sql = word.join(f"({sql})" for sql, _ in compiled_parts) or empty
    return sql, [param for _, params in compiled_parts for param in params]


def _condition(condition: Condition) -> Sql:
    found = DOCUMENT + " -> %s::text" * len(condition.path)
    path: list[Any] = list(condition.path)
    operand = condition.operand
    match condition.operator:
        case "$eq":
            return f"coalesce({found} = %s::jsonb, FALSE)", [*path, _json(operand)]
        case "$ne":
            return f"NOT coalesce({found} = %s::jsonb, FALSE)", [*path, _json(operand)]
        case "$in":
            values = [_json(one) for one in operand]
            return f"coalesce({found} = ANY(%s::jsonb[]), FALSE)", [*path, values]
        case "$exists":
            return f"({found} IS NOT NULL) = %s", [*path, operand]
        case _:
            return _ordered(found, path, _SIGNS[condition.operator], operand)


_SIGNS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def _ordered(found: str, path: list[Any], sign: str, operand: Json) -> Sql:
    """CASE, because Postgres may evaluate a cast before the test that would have spared it."""
    if isinstance(operand, str):
        kind, value = "string", f"({found} #>> '{{}}') COLLATE \"C\" {sign} %s"
        parameter: Any = operand
    else:
        kind, value = "number", f"({found} #>> '{{}}')::numeric {sign} %s::numeric"
        parameter = repr(operand)
    sql = f"CASE WHEN jsonb_typeof({found}) = '{kind}' THEN {value} ELSE FALSE END"
    return sql, [*path, *path, parameter]


def _json(value: Json) -> str:
    return json.dumps(value)
