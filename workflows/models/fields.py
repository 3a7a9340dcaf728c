"""Fields that several models have: JSON that keeps the order of keys, links to users and workflows, and who created a row.

``jsonb`` sorts keys and rewrites numbers. A node that prints an object would then print it differently after a crash
than before it, so the values that a run computes are stored as PostgreSQL's ``json``, which is returned unchanged. JSON
by which rows are queried, such as the configuration of a node, is a ``models.JSONField``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext_lazy as _
from psycopg.types.json import Json as AsJson


if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

    from accounts.models import User
    from workflows.models.workflow import Workflow


class VerbatimJSONField(models.JSONField):
    """A JSON column that keeps the order of keys; it can be read and written, not searched."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "json"

    def get_db_prep_value(
        self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> Any:  # any JSON value
        if value is None or hasattr(value, "as_sql") or isinstance(value, AsJson):
            return value
        return AsJson(value)

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        return value  # psycopg has parsed it already


def link_to_user(
    label: "_StrPromise",
    *,
    on_delete: Callable[..., Any] = models.SET_NULL,
    db_constraint: bool = True,
) -> "models.ForeignKey[User | None, User | None]":
    """Return a foreign key to an account, by default null once the account is deleted."""
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=label,
        null=True,
        blank=True,
        on_delete=on_delete,
        db_constraint=db_constraint,
        related_name="+",
    )


def link_to_workflow(related_name: str) -> "models.ForeignKey[Workflow, Workflow]":
    """Return a foreign key to a workflow without an index, for a model with another index that begins with it."""
    return models.ForeignKey(
        "workflows.Workflow", on_delete=models.CASCADE, related_name=related_name, db_index=False
    )


class Authored(models.Model):
    """A row that people create. ``created_by`` is null without a creator, and once their account is deleted."""

    created_by = link_to_user(_("created by"))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        abstract = True
