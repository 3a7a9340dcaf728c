"""Recognizes a database that has not been migrated."""

from typing import Final

from psycopg.errors import UndefinedTable


NO_TABLES: Final = "This database has no tables yet: run manage.py migrate first."


def is_table_missing(error: BaseException) -> bool:
    """Return whether an error of Django's database layer means that a table doesn't exist."""
    return isinstance(error.__cause__, UndefinedTable)
