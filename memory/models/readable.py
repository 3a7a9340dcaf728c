"""Rows of many namespaces, asked in one question with who may see them."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, F, Func, Q, QuerySet


def any_of(field: str, rows: QuerySet[Any], value: str = "pk") -> Q:
    """``field`` is the ``value`` of one of these rows.

    They are read once, before the plan runs, so that an index on the compared field serves; a nested query would
    walk the whole index of time.
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
