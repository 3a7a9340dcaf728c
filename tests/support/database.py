"""Database fixtures: each xdist worker has its own clone, reached as the app's role, as in production."""

import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import connections
from django.test import TransactionTestCase
from psycopg import sql

from tests.support import servers


# Rows that migrations and Django itself put there; everything else is emptied after a test that commits.
KEPT = ("django_migrations", "django_content_type", "auth_permission", "django_site")

# A table into which nothing was ever written has no size, as most partitions of weeks have none.
EMPTY_ALL = """
    do $$
    declare name text;
    begin
        set local session_replication_role = replica;  -- no trigger may object, no order is needed
        for name in
            select relname from pg_class
            where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> all(%s)
              and pg_relation_size(oid) > 0
        loop
            execute format('delete from %%I', name);
        end loop;
    end $$
"""

# The partitions of weeks. One that a test has added is dropped: another test expects its runs in the default partition.
WEEKS = """
    select relname from pg_class
    where relispartition and relkind = 'r' and relname ~ '_[0-9]{8}$' and right(relname, 8) <> all(%s)
"""
_own_weeks: list[str] = []  # those of the template
# The owner's session that empties the tables, while there is one.
_emptying: list[psycopg.Connection[Any]] = []


def worker_name() -> str:
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


def database_name() -> str:
    return f"test_{worker_name()}"


@pytest.fixture(scope="session")
def django_db_setup(django_db_blocker: Any) -> Iterator[None]:
    """Instead of pytest-django's: the app's role could not create a database."""
    with django_db_blocker.unblock():
        servers.start_postgres()
        servers.clone_database(database_name())
        servers.use_database(database_name())
        with connections["owner"].cursor() as cursor:
            cursor.execute(WEEKS, [[]])
            _own_weeks[:] = {name[-8:] for (name,) in cursor.fetchall()}
        # A process asks for each once. Whichever test came first would be counted asking.
        ContentType.objects.get_for_models(*apps.get_models())
    yield
    with django_db_blocker.unblock():
        connections.close_all()
    _end_emptying()


@pytest.fixture
def owner_db(transactional_db: None) -> Iterator[psycopg.Connection[Any]]:
    """SQL as the owner, in autocommit, beside the test's connection: no policy holds for it.

    It sees what is committed, so the test commits too and the tables are emptied afterwards.
    """
    with psycopg.connect(
        servers.postgres().build_url(name=database_name()), autocommit=True
    ) as connection:
        yield connection


@pytest.fixture(scope="session")
def valkey_url() -> str:
    """A real Valkey; each xdist worker has a numbered database of its own in it."""
    return f"unix://{servers.start_valkey().socket}?db={worker_number()}"


def worker_number() -> int:
    return int(worker_name().removeprefix("gw")) if worker_name() != "main" else 0


def empty_tables() -> None:
    """Empty them in one session that is kept: a new one would have to read about each table first, which takes longer."""
    try:
        _empty_tables()
    except psycopg.OperationalError:  # the server or the session was ended by the test
        _end_emptying()
        _empty_tables()


def _empty_tables() -> None:
    if not _emptying:
        url = servers.postgres().build_url(name=database_name())
        _emptying.append(psycopg.connect(url, autocommit=True))
    (connection,) = _emptying
    statement = EMPTY_ALL.replace(
        "%s", "array[" + ",".join(f"'{name}'" for name in KEPT) + "]"
    ).replace("%%", "%")
    connection.execute(statement)
    for (name,) in connection.execute(WEEKS, [_own_weeks]).fetchall():
        connection.execute(sql.SQL("drop table {}").format(sql.Identifier(name)))


def _end_emptying() -> None:
    while _emptying:
        _emptying.pop().close()


def renew_pool() -> None:
    """Begin a new pool if the present one misses connections.

    A thread of a test that ends without closing its connection takes it along. For the pool it is in use for ever, and later
    tests may find none free, or count it as held by the product.
    """
    connection: Any = connections["default"]
    connection.close()
    pool = connection._connection_pools.get("default")
    if pool is None:
        return
    statistics = pool.get_stats()
    if statistics["pool_size"] > statistics["pool_available"]:
        connection.close_pool()


def _teardown(self: TransactionTestCase) -> None:
    """Django would flush with TRUNCATE, which the app's role may not, and which would drop the content types."""
    empty_tables()
    renew_pool()


TransactionTestCase._fixture_teardown = _teardown
