"""What ``doctor`` says of the server for working memory."""

from typing import Any

from django.db import OperationalError, ProgrammingError
from psycopg import errors

from config.management import operation_checks
from config.management.operation_checks import check_memory_server


def test_database_without_tables_is_told_from_one_that_is_away() -> None:
    missing, away = ProgrammingError(), OperationalError("connection refused\nIs it running?")
    missing.__cause__ = errors.UndefinedTable("relation does not exist")

    details = [operation_checks._describe_database_error(each) for each in (missing, away)]

    assert details == [
        "no tables yet: run manage.py migrate",
        "the database doesn't answer: connection refused",
    ]


def test_server_of_working_memory_is_named_where_a_rule_uses_it(
    settings: Any, valkey_url: str
) -> None:
    settings.MEMORY_PLACES, settings.MEMORY_REDIS_URL = ("run=redis",), valkey_url
    there = list(check_memory_server())
    settings.MEMORY_REDIS_URL = "redis://127.0.0.1:1/0"
    away = list(check_memory_server())
    settings.MEMORY_PLACES = ("run=postgres",)
    unused = list(check_memory_server())

    assert [(each.name, each.passed, each.required) for each in (*there, *away, *unused)] == [
        ("memory in redis", True, False),
        ("memory in redis", False, False),
    ]
    assert away[0].detail.startswith("unreachable, so runs that use it wait: ")
