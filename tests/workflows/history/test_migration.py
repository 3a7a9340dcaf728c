"""An installation with runs is upgraded: every row is still there, in the partition of its week.

The owner of the tables is a role of its own, bound by their policies, as the manual advises.
"""

import os
import sys
from ast import literal_eval
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from config.embedded.programs import build_worker
from config.env import env
from tests.support import servers
from tests.support.nursery import Nurseries
from tests.workflows.history.made import id_of


pytestmark = pytest.mark.slow

DATABASE, OWNER = "test_upgrade", "upgrade_owner"
NOW = datetime.now(UTC)
AGES = {"new": 0.0, "old": 40.0, "ancient": 400.0}
RUN_TABLES = (
    *("workflows_step", "workflows_steppart", "workflows_runevent", "workflows_runpartial"),
    *("workflows_stepintent", "workflows_runwait"),
)
PLAIN = {
    "uuid": lambda: str(uuid4()), "json": lambda: "{}", "jsonb": lambda: "{}", "ARRAY": lambda: "{}",
    "boolean": lambda: False, "timestamp with time zone": lambda: NOW, "double precision": lambda: 0,
}  # fmt: skip
COLUMNS = """
    select column_name, data_type from information_schema.columns
    where table_name = %s and is_nullable = 'NO' and column_default is null"""


@dataclass(frozen=True)
class Installation:
    """The product on that database, in forked processes."""

    nurseries: Nurseries
    folder: Path

    def migrate(self, *targets: tuple[str, ...]) -> None:
        """Migrate to each of these, one after the other."""
        self.execute(
            "from django.core.management import call_command\n"
            f"for target in {targets!r}: call_command('migrate', *target, database='owner', verbosity=0)"
        )

    def tidy(self) -> dict[str, int]:
        """Upkeep in that database, as the application's role."""
        said = self.execute(
            "from workflows.execution.history.upkeep import tidy_history\n"
            "counts = tidy_history()\n"
            "print({name: counts[name] for name in ('weeks dropped', 'runs deleted')})"
        )
        counts: dict[str, int] = literal_eval(said.strip().splitlines()[-1])
        return counts

    def execute(self, code: str) -> str:
        server = servers.postgres()
        environment = {
            **os.environ,
            **build_worker(env()).environment,  # so that a nursery of workers serves it
            "DATABASE_URL": server.build_url("mnemoflow_app", DATABASE),
            "DATABASE_OWNER_URL": server.build_url(OWNER, DATABASE),
            # Given, so that the command doesn't start and stop the broker of the other tests.
            "BROKER_URL": "redis+socket:///nonexistent/valkey.sock?virtual_host=0",
            "REDIS_URL": "unix:///nonexistent/valkey.sock",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
        out, errors = self.folder / "out", self.folder / "errors"
        out.unlink(missing_ok=True)
        assert self.nurseries.start(command, environment, out, errors).wait(100) == 0, (
            errors.read_text()
        )
        return out.read_text()


@pytest.fixture
def installation(
    superuser: psycopg.Connection[Any], nurseries: Nurseries, tmp_path: Path
) -> Installation:
    prepare(superuser)
    return Installation(nurseries, tmp_path)


@pytest.fixture
def superuser(django_db_setup: None) -> Iterator[psycopg.Connection[Any]]:
    """A new database of the owner, and a connection to it that no policy binds."""
    server = servers.postgres()
    names = {"name": sql.Identifier(DATABASE), "owner": sql.Identifier(OWNER)}
    with psycopg.connect(server.build_url(), autocommit=True) as maintenance:
        maintenance.execute(sql.SQL("drop role if exists {owner}").format(**names))
        maintenance.execute(sql.SQL("create role {owner} login").format(**names))
        maintenance.execute(sql.SQL("create database {name} owner {owner}").format(**names))
        try:
            with psycopg.connect(server.build_url(name=DATABASE), autocommit=True) as connection:
                yield connection
        finally:
            maintenance.execute(sql.SQL("drop database {name} with (force)").format(**names))
            maintenance.execute(sql.SQL("drop role {owner}").format(**names))


def fill(db: psycopg.Connection[Any], table: str, **values: Any) -> Any:
    """Insert a row with these values, and plain ones where the table needs some."""
    for name, kind in db.execute(COLUMNS, [table]).fetchall():
        values.setdefault(name, PLAIN.get(kind, lambda kind=kind: 0 if "int" in kind else "x")())
    statement = sql.SQL("insert into {} ({}) values ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(sql.Placeholder() * len(values)),
    )
    db.execute(statement, [*values.values()])
    return values["id"]


def fill_runs(db: psycopg.Connection[Any]) -> dict[str, UUID]:
    team = fill(db, "accounts_team")
    workflow = fill(db, "workflows_workflow", team_id=team, mode="workflow", dialect="dify")
    own = {"team_id": team, "workflow_id": workflow}
    snapshot = fill(db, "workflows_snapshot", team_id=team, hash="0" * 64)
    ids = {}
    for name, days in AGES.items():
        at = NOW - timedelta(days=days)
        given = {
            "snapshot_id": snapshot,
            "status": "succeeded",
            "finished_at": at,
            "is_counted": True,
        }
        ids[name] = fill(db, "workflows_run", id=id_of(at), created_at=at, **own, **given)
        for table in RUN_TABLES:
            fill(
                db,
                table,
                team_id=team,
                run_id=ids[name],
                **({"status": "succeeded"} if table in RUN_TABLES[:2] else {}),
            )
    conversation = fill(db, "workflows_conversation", **own)
    fill(db, "workflows_message", team_id=team, conversation_id=conversation, run_id=ids["old"])
    return ids


def describe(db: psycopg.Connection[Any]) -> dict[str, list[Any]]:
    """Everything that a table has beside its partitions: rows, constraints, indexes, policies and privileges."""
    tables = [*RUN_TABLES[:5], "workflows_run"]
    queries = {
        "rows": "select t::text from {} t order by 1",
        "constraints": "select conname from pg_constraint where conrelid = '{}'::regclass and contype in ('c', 'f') order by 1",
        "policies": "select policyname, cmd, qual, with_check from pg_policies where tablename = '{}' order by 1",
        "privileges": "select privilege_type from information_schema.role_table_grants"
        " where table_name = '{}' and grantee = 'mnemoflow_app' order by 1",
        "triggers": "select tgname from pg_trigger where tgrelid = '{}'::regclass and not tgisinternal order by 1",
        "columns": "select column_name, data_type, is_nullable, column_default from information_schema.columns"
        " where table_name = '{}' order by ordinal_position",
    }
    return {
        f"{name} of {table}": db.execute(query.replace("{}", table)).fetchall()
        for table in tables
        for name, query in queries.items()
    }


def test_runs_of_an_installation_are_partitioned(
    superuser: psycopg.Connection[Any], installation: Installation
):
    installation.migrate(("memory",), ("workflows", "0015"))
    ids = fill_runs(superuser)
    before = describe(superuser)

    events = read_events(superuser, ids)
    installation.migrate(("workflows", "0016"))

    after = describe(superuser)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"constraints of workflows_run", "constraints of workflows_runpartial"}
    weeks = {"new": {week_of(0)}, "old": {week_of(40)}, "ancient": {"kept"}}
    tables = ["workflows_step", "workflows_steppart", "workflows_runpartial"]
    assert partitions(superuser, ids, tables) == weeks
    installation.migrate(())
    assert read_events(superuser, ids) == events
    assert partitions(superuser, ids, [*tables, "workflows_runcommit"]) == weeks
    counts = installation.tidy()
    assert (counts["weeks dropped"] >= 1, counts["runs deleted"]) == (True, 1)
    assert [row[0] for row in superuser.execute("select id from workflows_run")] == [ids["new"]]
    assert superuser.execute("select run_id from workflows_message").fetchall() == [(None,)]


def read_events(db: psycopg.Connection[Any], ids: dict[str, UUID]) -> dict[str, list[Any]]:
    queries = {
        "events": "select run_id, seq, name, data::text from workflows_runevent order by 1, 2",
        "intents": "select run_id, node_key, rounds, attempt, idempotency_key from workflows_stepintent order by 1, 4, 2",
    }
    rows = {name: db.execute(query).fetchall() for name, query in queries.items()}
    assert (
        {row[0] for row in rows["events"]} == {row[0] for row in rows["intents"]} == {*ids.values()}
    )
    return rows


def prepare(superuser: psycopg.Connection[Any]) -> None:
    superuser.execute("create extension if not exists vector")
    from config.embedded.roles import ensure_role

    with psycopg.connect(
        servers.postgres().build_url(OWNER, DATABASE), autocommit=True
    ) as connection:
        ensure_role(connection)


def week_of(days: float) -> str:
    at = NOW - timedelta(days=days)
    return f"{at - timedelta(days=at.weekday()):%Y%m%d}"


def partitions(
    db: psycopg.Connection[Any], ids: dict[str, UUID], tables: list[str]
) -> dict[str, set[str]]:
    keys = {"workflows_run": "id"} | dict.fromkeys(tables, "run_id")
    return {
        name: {
            str(at).removeprefix(f"{table}_")
            for table, key in keys.items()
            for (at,) in db.execute(
                f"select tableoid::regclass from {table} where {key} = %s", [pk]
            )
        }
        for name, pk in ids.items()
    }
