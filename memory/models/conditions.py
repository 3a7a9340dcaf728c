"""Builders of the conditions and constraints that several models use."""

from datetime import datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, CheckConstraint, F, Func, Q, QuerySet
from django.db.models.enums import ChoicesType


def build_any_of_condition(field: str, rows: QuerySet[Any], row_field: str = "pk") -> Q:
    """Return the condition that ``field`` equals ``row_field`` of one of these rows.

    The rows are read once, before the query runs, so that an index on ``field`` is used. With ``IN (SELECT …)``,
    PostgreSQL would scan the whole index that gives the order.
    """
    return Q(
        Func(
            F(field),
            _AnyOf(rows.order_by().values(row_field)),
            template="%(expressions)s",
            arg_joiner=" = ",
            output_field=BooleanField(),
        )
    )


def build_holding_condition(moment: datetime) -> Q:
    """Return the condition that an entry holds at the moment, as ``memory.core.recall.selection.holds`` checks it."""
    has_begun = Q(valid_from=None) | Q(valid_from__lte=moment)
    return has_begun & (Q(valid_until=None) | Q(valid_until__gt=moment))


def build_choices_constraint(field: str, choices: ChoicesType, name: str) -> CheckConstraint:
    """Return the constraint that the field has one of the choices."""
    return CheckConstraint(condition=Q(**{f"{field}__in": choices.values}), name=name)


class _AnyOf(ArraySubquery):
    template = "ANY(ARRAY(%(subquery)s))"
