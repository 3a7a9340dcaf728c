"""Restore a dump of ``manage.py backup`` into the empty database of DATABASE_OWNER_URL."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.embedded.layout import find_layout
from config.env import env
from config.management.commands.backup import describe_files
from config.management.database_dumps import DumpFailed, restore_database


class Command(BaseCommand):
    help = "Restore a dump into the empty database of DATABASE_OWNER_URL, all of it or nothing."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a file of manage.py backup")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        settings = env()
        embedded_url = find_layout(settings.mnemoflow_home).build_database_url("postgres")
        url = settings.database_owner_url or settings.database_url or embedded_url
        try:
            report = restore_database(url, file)
        except (DumpFailed, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{report.tables} tables restored. Next: put the backup of the files back to {describe_files()}, then "
            "manage.py migrate and manage.py doctor."
        )
