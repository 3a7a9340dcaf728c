import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import psycopg
import pytest
from psycopg import AsyncConnection, errors

from config.postgres.conninfo import build_conninfo
from tests.support.waiting import until_async
from workflows.execution.db import CONNECTION_OPTIONS, Database
from workflows.execution.run_connection import RunConnection


pytestmark = pytest.mark.django_db(transaction=True)

ID = UUID("0192f0c1-2345-7000-8000-000000000001")
OTHER_ID = UUID("0192f0c1-2345-7000-8000-000000000002")


@pytest.fixture
async def connection() -> AsyncIterator[RunConnection]:
    connection = await RunConnection.connect(build_conninfo(), autocommit=True)
    yield connection
    await connection.close()


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    database = Database(size=2)
    yield database
    await database.close()


@pytest.mark.parametrize(
    ("sql_type", "value", "expected"),
    [
        ("text", "a 'b' \\ é 🐈", "a 'b' \\ é 🐈"),
        ("text", "", ""),
        ("text", None, None),
        ("int", 12, 12),
        ("bigint", -(2**60), -(2**60)),
        ("boolean", True, True),
        ("boolean", False, False),
        ("uuid", ID, ID),
        ("uuid[]", [ID, OTHER_ID], [ID, OTHER_ID]),
        ("uuid[]", [], []),
        ("integer[]", [1, -2, None], [1, -2, None]),
        ("boolean[]", [True, False], [True, False]),
        (
            "text[]",
            ['a "b"', "\\", "", "NULL", "{x,y}", " é "],
            ['a "b"', "\\", "", "NULL", "{x,y}", " é "],
        ),
        ("double precision", 0.1, 0.1),
        ("interval", timedelta(seconds=15), timedelta(seconds=15)),
        ("interval", timedelta(days=2, milliseconds=1), timedelta(days=2, milliseconds=1)),
        ("json", '{"a": [1, null]}', {"a": [1, None]}),
        ("numeric", Decimal("1.50"), Decimal("1.50")),  # in psycopg's own way
    ],
)
async def test_value_goes_to_the_server_and_back(
    connection: RunConnection, sql_type: str, value: object, expected: object
):
    statement = f"select %s::{sql_type}"

    assert await connection.fetch_value(statement, (value,)) == expected
    cursor = await connection.execute(statement.encode(), (value,))
    assert await cursor.fetchone() == (expected,)  # as a cursor of psycopg reads it


async def test_statement_without_a_row_has_no_value(connection: RunConnection):
    assert await connection.fetch_value("select 1 where %s", (False,)) is None


async def test_text_with_nul_is_refused_and_not_cut(connection: RunConnection):
    with pytest.raises(psycopg.DataError, match="NUL"):
        await connection.fetch_value("select %s::text", ("a\0b",))

    assert await connection.fetch_value("select %s::text", ("ab",)) == "ab"


async def test_value_larger_than_every_buffer_arrives_whole(connection: RunConnection):
    text = "0123456789" * 2_000_000

    assert await connection.fetch_value("select md5(%s::text)", (text,)) == (
        await connection.fetch_value("select md5(repeat('0123456789', %s))", (2_000_000,))
    )


async def test_error_is_that_of_psycopg_and_the_connection_goes_on(connection: RunConnection):
    with pytest.raises(errors.DivisionByZero, match="division by zero"):
        await connection.fetch_value("select 1 / %s", (0,))
    with pytest.raises(errors.UndefinedFunction):
        await connection.fetch_value("select no_such_function(%s)", (1,))
    with pytest.raises(errors.InvalidTextRepresentation):
        await connection.fetch_value("select %s::uuid", ("no id",))

    assert connection.is_idle
    assert await connection.fetch_value("select 1 / %s", (1,)) == 1


async def test_kept_connections_that_an_end_of_the_server_broke_fail_once(database: Database):
    await asyncio.gather(*(database.fetch_value("select pg_sleep(%s)", (0,)) for _ in range(2)))
    async with await AsyncConnection.connect(build_conninfo("owner"), autocommit=True) as owner:
        await owner.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where application_name = %s and datname = current_database()",
            (CONNECTION_OPTIONS["application_name"],),
        )

    with pytest.raises(psycopg.OperationalError) as caught:
        await database.fetch_value("select %s", (1,))

    assert caught.value.sqlstate in (None, "57P01")
    assert await database.fetch_value("select 1 + %s", (1,)) == 2


SLEEPING = (
    "from pg_stat_activity where wait_event = 'PgSleep'"
    " and application_name = %s and datname = current_database()"
)


@pytest.fixture
async def owner() -> AsyncIterator[AsyncConnection[tuple[object, ...]]]:
    """A session of the owner, which ends the statements that go on when their client has gone.

    The snapshot of such a statement would keep dead entries, which other tests count.
    """
    name = CONNECTION_OPTIONS["application_name"]
    async with await AsyncConnection.connect(build_conninfo("owner"), autocommit=True) as made:
        yield made
        await made.execute(f"select pg_terminate_backend(pid, 5000) {SLEEPING}".encode(), (name,))


async def test_statement_whose_task_was_cancelled_leaves_no_answer_for_the_next(
    database: Database, owner: AsyncConnection[tuple[object, ...]]
):
    task = asyncio.create_task(database.fetch_value("select pg_sleep(%s)", (90,)))
    await until_async(lambda: is_sleeping(owner))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await asyncio.gather(
        *(database.fetch_value("select 10 + %s", (number,)) for number in range(5))
    ) == [10, 11, 12, 13, 14]


async def is_sleeping(owner: AsyncConnection[tuple[object, ...]]) -> bool:
    """Return whether the server executes the statement that takes its time."""
    name = CONNECTION_OPTIONS["application_name"]
    cursor = await owner.execute(f"select 1 {SLEEPING}".encode(), (name,))
    return await cursor.fetchone() is not None


async def test_more_tasks_than_connections_take_turns(database: Database):
    numbers = await asyncio.gather(
        *(database.fetch_value("select %s + length(pg_sleep(0.01)::text)", (n,)) for n in range(20))
    )

    assert numbers == list(range(20))
    stats = database.get_pool_stats()
    assert (stats["pool_size"], stats["pool_available"]) == (2, 2)
