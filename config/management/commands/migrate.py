"""Django's migrate on the owner's connection, because the site's role owns no table and may create none."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate as django_migrate
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from config.embedded.roles import APP_ROLE, ensure_role, join_role
from config.env import env
from config.management.migration_states import Executor


# This migration was squashed into others before the first release, so only an older database has applied it.
OLD_MIGRATION = ("accounts", "0002_walls")


@contextmanager
def _use_own_executor() -> Iterator[None]:
    """Let Django's command use our executor, which it can't be told otherwise."""
    module: Any = django_migrate
    module.MigrationExecutor = Executor
    try:
        yield
    finally:
        module.MigrationExecutor = MigrationExecutor


class Command(django_migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=settings.MIGRATE_ALIAS)

    def handle(self, *args: Any, **options: Any) -> str | None:
        check_is_current(options["database"])
        self._ensure_app_role(options["database"])
        # Migrations build thousands of classes. Looking for garbage among all that was loaded before took a third of the time.
        gc.collect()
        gc.freeze()
        with _use_own_executor():
            return super().handle(*args, **options)

    def _ensure_app_role(self, alias: str) -> None:
        wrapper = connections[alias]
        wrapper.ensure_connection()
        login, owner = connections["default"].settings_dict["USER"], wrapper.settings_dict["USER"]
        try:
            ensure_role(wrapper.connection)
            if login not in (APP_ROLE, owner):
                join_role(wrapper.connection, login)
        except psycopg.errors.InsufficientPrivilege as error:
            raise CommandError(
                f"{owner} can't create the role {APP_ROLE}, which row-level security needs. As a superuser, run: "
                f"create role {APP_ROLE} login password '…'; then try again. ({error})"
            ) from error


def check_is_current(alias: str) -> None:
    """Raise ``CommandError`` for a database from before the first release, whose migrations no longer exist."""
    if OLD_MIGRATION not in MigrationRecorder(connections[alias]).applied_migrations():
        return
    if env().embedded_database:
        home = env().mnemoflow_home
        raise CommandError(
            f"The data folder {home} is from before the first release and cannot be brought up to date: "
            "move it away and start again."
        )
    name = connections[alias].settings_dict["NAME"]
    raise CommandError(
        f"The database {name} is from before the first release and cannot be brought up to date: "
        "create an empty one and start again."
    )
