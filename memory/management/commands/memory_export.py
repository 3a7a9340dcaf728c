"""Writes memory of a team to a file: all of it, one namespace, or all about a person.

Whoever runs this reads the database anyway, so nothing private is left out; each namespace is in the trail.
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
            made = export_all(team.pk, namespace=options["namespace"], subject=options["person"])
        except MemoryFault as fault:
            raise CommandError(str(fault)) from fault
        self._write(made, options["output"])
        counts = made.header.counts
        self.stderr.write(
            f"{counts.namespaces} namespaces, {counts.entries} entries, "
            f"{counts.revisions} revisions, {made.size} bytes"
        )

    def _write(self, made: ExportFile, where: str) -> None:
        with made.file:
            if where == "-":
                for line in made.file:
                    self.stdout.write(line.decode(), ending="")
                return
            try:
                with Path(where).open("xb") as target:
                    shutil.copyfileobj(made.file, target)
            except OSError as wrong:
                raise CommandError(f"{where}: {wrong.strerror}") from wrong
