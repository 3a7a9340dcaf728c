"""Conditions that several models use."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, CheckConstraint, F, Func, Q, QuerySet
from django.db.models.enums import ChoicesType


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


def check_choices(field: str, choices: ChoicesType, name: str) -> CheckConstraint:
    """Return the constraint that the field has one of the choices."""
    return CheckConstraint(condition=Q(**{f"{field}__in": choices.values}), name=name)


class _AnyOf(ArraySubquery):
    template = "ANY(ARRAY(%(subquery)s))"
