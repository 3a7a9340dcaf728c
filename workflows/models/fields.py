"""A JSON field that stores values exactly as given, including the order of keys.

``jsonb`` sorts keys and rewrites numbers. A node that prints an object would then print it
differently after a crash than before it, so whatever a run computes is stored as PostgreSQL's
``json``: text, checked for syntax and returned unchanged. Where rows are queried by their JSON
(the configuration of a node), ``models.JSONField`` and its operators are the right choice.
"""

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.types.json import Json as AsJson


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
