"""Conditions on rows of many namespaces, combined with visibility in one database query."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, F, Func, Q, QuerySet


def any_of(field: str, rows: QuerySet[Any], value: str = "pk") -> Q:
    """Return the condition that ``field`` equals the ``value`` of one of these rows.

    The rows are read once, before the plan runs, so that an index on the compared field is used; with a nested query
    PostgreSQL would scan the whole index of times.
    """
    return Q(
        Func(
            F(field),
            _AnyOf(rows.order_by().values(value)),
            template="%(expressions)s",
            arg_joiner=" = ",
            output_field=BooleanField(),
        )
    )


class _AnyOf(ArraySubquery):
    template = "ANY(ARRAY(%(subquery)s))"
