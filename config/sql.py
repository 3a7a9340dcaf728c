"""Reads SQL from files: functions and triggers that migrations create, and named queries.

A path is relative to the root of the project, so that a search for it leads to the file.
"""

import re

from django.db import migrations

from config.env import ROOT


_FUNCTION = re.compile(r"^create function (\w+)", re.IGNORECASE | re.MULTILINE)
_CREATE_FUNCTION = re.compile(r"^create function", re.IGNORECASE | re.MULTILINE)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


def run_sql_file(path: str, *, undo: str = "") -> migrations.RunSQL:
    """Return the migration that runs a file. Its reverse runs ``undo`` and drops the file's functions with dependants.

    A change of such a file after a release needs a migration with ``replace_functions``.
    """
    text = (ROOT / path).read_text(encoding="utf-8")
    drops = [f"DROP FUNCTION {name} CASCADE" for name in reversed(_FUNCTION.findall(text))]
    return migrations.RunSQL(text, [*filter(None, [undo]), *drops])


def replace_functions(path: str) -> migrations.RunSQL:
    """Replace the functions of a file in databases in which an earlier version of the file created them."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return migrations.RunSQL(
        _CREATE_FUNCTION.sub("create or replace function", text), migrations.RunSQL.noop
    )


def read_queries(path: str) -> dict[str, str]:
    """Return the queries of a file without comments. Each query begins with a line ``-- name: …``."""
    _header, *names_and_queries = _NAME.split((ROOT / path).read_text(encoding="utf-8"))
    names, queries = names_and_queries[::2], names_and_queries[1::2]
    return {name: _COMMENT.sub("", sql).strip() for name, sql in zip(names, queries, strict=True)}


def build_call(function: str, *parameters: str) -> str:
    """Return the SQL that calls a database function with named parameters, whose values are passed in this order."""
    return f"{function}({', '.join(f'{name} => %s' for name in parameters)})"
