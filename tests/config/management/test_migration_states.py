"""What a migration sees of the models: the classes that it needs, as they were before and after each operation."""

import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.commands.migrate import Command as DjangoMigrate
from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from psycopg import sql

from config.embedded.session import prepare_database
from config.management.database_dumps import find_program
from config.management.migration_states import PartialState
from tests.support import servers
from tests.support.database import database_name, worker_name


def key() -> models.Field[Any, Any]:
    return models.BigAutoField(primary_key=True)


def reference(to: str) -> models.Field[Any, Any]:
    return models.ForeignKey(to, models.CASCADE)


CREATED = [
    migrations.CreateModel("Team", [("id", key())]),
    migrations.CreateModel("Run", [("id", key()), ("team", reference("shop.Team"))]),
    migrations.CreateModel("Step", [("id", key()), ("run", reference("shop.Run"))]),
    migrations.CreateModel("Other", [("id", key()), ("team", reference("shop.Team"))]),
]


def run(*operations: Operation) -> tuple[PartialState, PartialState]:
    """Return the states before and after the last operation."""
    state = before = PartialState()
    for operation in operations:
        before = state.clone()
        operation.state_forwards("shop", state)
    return before, state


def built(state: PartialState) -> set[str]:
    return {model.__name__ for model in state.apps.get_models()}


def test_model_is_built_with_those_it_refers_to_and_no_others():
    _before, state = run(*CREATED)
    assert built(state) == set()

    step = state.apps.get_model("shop", "Step")

    assert built(state) == {"Step", "Run", "Team"}
    assert step._meta.get_field("run").related_model is state.apps.get_model("shop.Run")


def test_field_is_there_after_the_operation_that_adds_it_and_not_before():
    before, after = run(*CREATED, migrations.AddField("Run", "name", models.TextField(default="")))

    names = [
        {field.name for field in state.apps.get_model("shop", "Run")._meta.get_fields()}
        for state in (before, after)
    ]

    assert names == [{"id", "team"}, {"id", "team", "name"}]


def test_classes_of_the_state_before_are_those_that_were_built_already():
    _before, state = run(*CREATED)
    model = state.apps.get_model("shop", "Run")

    copy = state.clone()
    migrations.AddField("Run", "name", models.TextField(default="")).state_forwards("shop", state)

    assert copy.apps.get_model("shop", "Run") is model
    assert state.apps.get_model("shop", "Run") is not model
    assert copy.apps.get_model("shop", "Step")._meta.get_field("run").related_model is model


@pytest.mark.parametrize(
    "operation",
    [
        migrations.AlterField("Team", "id", models.UUIDField(primary_key=True)),
        migrations.AlterField("Run", "team", models.OneToOneField("shop.Team", models.CASCADE)),
        migrations.RenameField("Team", "id", "number"),
        migrations.DeleteModel("Other"),
    ],
)
def test_operation_that_may_concern_other_tables_has_all_models(operation: Operation):
    before, after = run(*CREATED, operation)

    assert built(before) == {"Team", "Run", "Step", "Other"}
    assert built(after) >= {"Team", "Run", "Step"}

    after.clone()  # the next operation begins
    migrations.AddField("Run", "name", models.TextField(default="")).state_forwards("shop", after)
    assert built(after) == set()


def test_code_has_all_models():
    seen: list[set[str]] = []
    operation: Any = migrations.RunPython(
        lambda apps, _editor: seen.append({model.__name__ for model in apps.get_models()})
    )
    before, _after = run(*CREATED, operation)

    before.clear_delayed_apps_cache()  # as RunPython does
    operation.code(before.apps, None)

    assert seen == [{"Team", "Run", "Step", "Other"}]


@pytest.fixture
def empty_database(django_db_setup: None) -> Iterator[str]:
    name = f"plain_{worker_name()}"
    prepare_database(servers.postgres(), name)
    servers.use_database(name)
    yield name
    servers.use_database(database_name())
    with psycopg.connect(servers.postgres().build_url(), autocommit=True) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def migrate_as_django_does(target: list[str]) -> None:
    options = ["--database", "owner", "--verbosity", "0", "--skip-checks"]
    DjangoMigrate().run_from_argv(["manage.py", "migrate", *target, *options])


def migrate_in_steps(target: list[str]) -> None:
    """Migrate as an installation does that is older than most of the migrations."""
    for names in (["memory", "0003"], target):
        call_command("migrate", *names, verbosity=0)


# By day those of memory alone: the migrations of workflows take six times as long as all others together.
PARTS = [
    pytest.param(["memory"], "memory_*", id="memory"),
    pytest.param([], "*", id="everything", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize("migrate", [migrate_as_django_does, migrate_in_steps])
@pytest.mark.parametrize(("target", "tables"), PARTS)
def test_database_has_the_schema_that_django_would_have_made(
    empty_database: str,
    django_db_blocker: Any,
    migrate: Callable[[list[str]], None],
    target: list[str],
    tables: str,
):
    with django_db_blocker.unblock():
        migrate(target)

    made = dump_schema(empty_database, tables)
    assert made == dump_schema(servers.TEMPLATE, tables)
    assert "CREATE TABLE public.memory_entry (" in made


def dump_schema(name: str, tables: str) -> list[str]:
    """Return the statements that make these tables, and with all tables everything else that is there."""
    url = servers.postgres().build_url(name=name)
    with psycopg.connect(url) as connection:
        version = connection.info.server_version // 10_000
    named = [] if tables == "*" else [f"--table=public.{tables}"]
    command = [str(find_program("pg_dump", version)), "--schema-only", *named, url]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line for line in process.stdout.splitlines() if not re.match(r"\\(un)?restrict ", line)]
