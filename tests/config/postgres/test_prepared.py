from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.postgres.prepared import open_prepared_cursor


pytestmark = pytest.mark.django_db(transaction=True)


def _fetch(statement: str, value: int) -> int:
    with open_prepared_cursor() as cursor:
        cursor.execute(statement, [value])
        (row,) = cursor.fetchall()
    result: int = row[0]
    return result


def _count_prepared(mark: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s",
            [f"%{mark} + $1%"],
        )
        result: int = cursor.fetchone()[0]
    return result


@pytest.fixture
def statement() -> str:
    """A statement that no other test prepares."""
    return f"SELECT {uuid4().int % 1_000_000} + %s::int"


def test_statement_is_planned_once_whatever_its_parameters(statement: str):
    number = int(statement.split()[1])

    values = [_fetch(statement, 1), _fetch(statement, 2)]

    assert values == [number + 1, number + 2]
    assert _count_prepared(str(number)) == 1


def test_statement_is_prepared_anew_after_a_rollback(statement: str):
    number = int(statement.split()[1])
    _fetch(statement, 1)
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("ROLLBACK")

    assert _fetch(statement, 2) == number + 2


def test_log_shows_the_statement_with_its_parameters(statement: str):
    with CaptureQueriesContext(connection) as queries:
        _fetch(statement, 17)

    assert [query["sql"] for query in queries] == [statement.replace("%s", "17")]
