"""Writes memory of a team to a file: all of it except the notes of runs, one namespace, or the memory about a person.

Operators can read the database anyway, so private memory is included; each namespace is recorded in the audit log.
"""

import shutil
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Team
from memory.core.errors import MemoryFault
from memory.services.transfer.exporting import ExportFile, export_all


class Command(BaseCommand):
    help = "Export a team's memory as JSON Lines, including private namespaces."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", metavar="TEAM", help="short name")
        parser.add_argument(
            "--namespace", metavar="TEXT", help="export only this namespace, such as global:default"
        )
        parser.add_argument("--person", metavar="ID", help="export only the memory of this user")
        parser.add_argument(
            "--output",
            metavar="FILE",
            default="-",
            help="file to create; standard output if omitted",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"Team {options['team']!r} not found.", returncode=2)
        if options["namespace"] and options["person"]:
            raise CommandError("Use either --namespace or --person.", returncode=2)
        try:
            export = export_all(team.pk, namespace=options["namespace"], subject=options["person"])
        except MemoryFault as fault:
            raise CommandError(str(fault)) from fault
        self._write(export, options["output"])
        counts = export.header.counts
        self.stderr.write(
            f"{counts.namespaces} namespaces, {counts.entries} entries, "
            f"{counts.revisions} revisions, {export.size} bytes"
        )

    def _write(self, export: ExportFile, path: str) -> None:
        with export.file:
            if path == "-":
                for line in export.file:
                    self.stdout.write(line.decode(), ending="")
                return
            try:
                with Path(path).open("xb") as target:
                    shutil.copyfileobj(export.file, target)
            except OSError as error:
                raise CommandError(f"{path}: {error.strerror}") from error
