"""Dump the database to a file, which ``manage.py restore`` and pg_restore read."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.embedded.layout import find_layout
from config.env import env
from config.management.database_dumps import DumpFailed, dump_database


class Command(BaseCommand):
    help = (
        "Dump the database to FILE. Keys and the files of runs are not part of it: back up SECRET_KEYS_AT_REST or "
        "secrets.json, and FILES_DIR or FILES_BUCKET as well."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="new file, e.g. mnemoflow.dump")

    def handle(self, *args: Any, **options: Any) -> None:
        file: Path = options["file"]
        try:
            report = dump_database(choose_url(), file)
        except (DumpFailed, OSError) as error:
            raise CommandError(str(error)) from error
        size = report.size / 1_000_000
        self.stdout.write(f"{file}: {report.tables} tables, {size:.1f} MB.")
        self.stdout.write(
            f"The files of runs are not part of it: back up {describe_files()} as well."
        )


def describe_files() -> str:
    settings = env()
    if settings.files_bucket:
        return f"the bucket {settings.files_bucket}"
    return str(settings.files_dir or settings.mnemoflow_home / "files")


def choose_url() -> str:
    settings = env()
    urls = (settings.database_backup_url, settings.database_owner_url, settings.database_url)
    embedded_url = find_layout(settings.mnemoflow_home).build_database_url("postgres")
    return next((url for url in urls if url), embedded_url)
