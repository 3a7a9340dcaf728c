"""A dump is whole, and what is restored from it has the rows, policies and rights of the original."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from config.embedded.roles import grant_default_privileges
from config.management.database_dumps import DumpFailed, dump_database, restore_database
from tests.factories.workflows import make_run, make_workflow
from tests.support import servers
from tests.support.cast import Cast
from tests.support.database import database_name, worker_name


def name_owner() -> str:
    return f"restoring_owner_{worker_name()}"


def name_target() -> str:
    return f"restored_{worker_name()}"


HAS_VECTOR = "select 1 from pg_available_extensions where name = 'vector'"
LIST_TABLES = "select tablename from pg_tables where schemaname = 'public' order by 1"
# What row-level security and the audit trail rest on.
LIST_RIGHTS = """
    select table_name, privilege_type from information_schema.role_table_grants
    where grantee = 'mnemoflow_app' and table_schema = 'public' order by 1, 2
"""
LIST_POLICIES = """
    select tablename, policyname, cmd, qual, with_check, roles = '{public}' from pg_policies order by 1, 2
"""
LIST_FORCED = """
    select relname from pg_class where relrowsecurity and relforcerowsecurity order by 1
"""
LIST_TRIGGERS = (
    "select tgrelid::regclass::text, tgname from pg_trigger where not tgisinternal order by 1, 2"
)
LIST_FUNCTIONS = """
    select proname, prosecdef, proacl::text like '%mnemoflow_app%' from pg_proc
    where pronamespace = 'public'::regnamespace and proname !~ '^(vector|halfvec|sparsevec)' order by 1
"""


def url_of(role: str, database: str) -> str:
    return servers.postgres().build_url(role, database)


@pytest.fixture
def target() -> Iterator[str]:
    """An empty database of a role that is no superuser, with the default privileges of an installation."""
    names = {"owner": sql.Identifier(name_owner()), "target": sql.Identifier(name_target())}
    with psycopg.connect(servers.postgres().build_url(), autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {target}").format(**names))
        connection.execute(sql.SQL("drop role if exists {owner}").format(**names))
        connection.execute(sql.SQL("create role {owner} login").format(**names))
        connection.execute(sql.SQL("create database {target} owner {owner}").format(**names))
        with psycopg.connect(url_of(name_owner(), name_target()), autocommit=True) as owner:
            for grant in grant_default_privileges():
                owner.execute(grant)
        with psycopg.connect(url_of("postgres", name_target()), autocommit=True) as superuser:
            if superuser.execute(HAS_VECTOR).fetchone():
                superuser.execute("create extension vector")
        yield url_of(name_owner(), name_target())
        connection.execute(sql.SQL("drop database {target} with (force)").format(**names))
        connection.execute(sql.SQL("drop role {owner}").format(**names))


def describe(url: str) -> dict[str, Any]:
    """Rows are counted as a superuser, whom no policy hides any."""
    with psycopg.connect(url, autocommit=True) as connection:
        names = [name for (name,) in connection.execute(LIST_TABLES).fetchall()]
        counts = {
            name: connection.execute(
                sql.SQL("select count(*) from {}").format(sql.Identifier(name))
            ).fetchone()
            for name in names
        }
        queries = (LIST_RIGHTS, LIST_POLICIES, LIST_FORCED, LIST_TRIGGERS, LIST_FUNCTIONS)
        return {"rows": counts} | {query: connection.execute(query).fetchall() for query in queries}


@pytest.mark.django_db(transaction=True)
def test_restored_database_equals_the_original_and_its_owner_finds_runs(
    cast: Cast, tmp_path: Path, target: str
):
    run = make_run(cast.alice, make_workflow(cast.alice), status="queued")
    original = describe(url_of("postgres", database_name()))
    file = tmp_path / "mnemoflow.dump"

    dumped = dump_database(url_of("postgres", database_name()), file)
    restored = restore_database(target, file)

    assert describe(url_of("postgres", name_target())) == original
    assert original["rows"]["workflows_run"] == (1,)
    assert ("accounts_auditentry", "UPDATE") not in original[LIST_RIGHTS]
    assert (dumped, file.stat().st_mode & 0o777) == (restored, 0o600)
    with psycopg.connect(url_of("mnemoflow_app", name_target())) as app:
        found = app.execute("select execution_team_of(%s)", [run.pk]).fetchone()
        hidden = app.execute("select count(*) from workflows_run").fetchone()
    assert (found, hidden) == ((cast.alice.team.pk,), (0,))


@pytest.mark.django_db(transaction=True)
def test_role_bound_by_row_level_security_dumps_nothing(cast: Cast, tmp_path: Path):
    file = tmp_path / "mnemoflow.dump"

    with pytest.raises(DumpFailed, match=r"doesn't bypass row-level security.*bypassrls"):
        dump_database(url_of("mnemoflow_app", database_name()), file)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db(transaction=True)
def test_dump_that_is_cut_off_restores_nothing(cast: Cast, tmp_path: Path, target: str):
    file = tmp_path / "mnemoflow.dump"
    dump_database(url_of("postgres", database_name()), file)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    with pytest.raises(DumpFailed):
        restore_database(target, file)

    assert describe(url_of("postgres", name_target()))["rows"] == {}


@pytest.mark.django_db(transaction=True)
def test_database_with_tables_is_not_restored_into(cast: Cast, tmp_path: Path):
    file = tmp_path / "mnemoflow.dump"
    url = url_of("postgres", database_name())
    dump_database(url, file)

    with pytest.raises(DumpFailed, match=r"contains \d+ tables"):
        restore_database(url, file)


@pytest.mark.django_db(transaction=True)
def test_dump_with_embeddings_asks_for_pgvector(cast: Cast, tmp_path: Path, target: str):
    file = tmp_path / "mnemoflow.dump"
    dump_database(url_of("postgres", database_name()), file)
    with psycopg.connect(url_of("postgres", name_target()), autocommit=True) as superuser:
        if not superuser.execute(HAS_VECTOR).fetchone():
            pytest.skip("this PostgreSQL has no pgvector, so its dumps have no embeddings")
        superuser.execute("drop extension vector")

    with pytest.raises(
        DumpFailed, match=f"in the database {name_target()}: create extension vector"
    ):
        restore_database(target, file)


def test_password_is_not_part_of_the_command_line():
    # Inline import: the function is private, but its result is what every user of the machine can read.
    from config.management.database_dumps import _build_parameters

    parameters = _build_parameters("postgresql://backup:secret@db/mnemoflow?sslmode=require")

    assert parameters == make_conninfo(
        "", user="backup", dbname="mnemoflow", host="db", sslmode="require"
    )
