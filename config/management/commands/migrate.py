"""Django's migrate, on the owner's connection: the role the site runs as owns no table and may make none."""

from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import connections

from config.embedded.roles import APP_ROLE, ensure_role, join_role


class Command(MigrateCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database=settings.MIGRATE_ALIAS)

    def handle(self, *args: Any, **options: Any) -> str | None:
        self._ensure_app_role(options["database"])
        return super().handle(*args, **options)

    def _ensure_app_role(self, alias: str) -> None:
        wrapper = connections[alias]
        wrapper.ensure_connection()
        site, owner = connections["default"].settings_dict["USER"], wrapper.settings_dict["USER"]
        try:
            ensure_role(wrapper.connection)
            if site not in (APP_ROLE, owner):
                join_role(wrapper.connection, site)
        except psycopg.errors.InsufficientPrivilege as error:
            raise CommandError(
                f"{owner} may not make the role {APP_ROLE}, which row-level security needs. As a superuser, once: "
                f"create role {APP_ROLE} login password '…'; then run this again. ({error})"
            ) from error
