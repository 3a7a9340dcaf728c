"""Rebuilds the search index of memory for every team or for one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Team
from memory.upkeep.reindexing import reindex_team


class Command(BaseCommand):
    help = "Rebuild the search index of memory, for all teams or one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "team", nargs="?", metavar="TEAM", help="short name; all teams if omitted"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        teams = Team.objects.order_by("slug")
        if options["team"] is not None:
            teams = teams.filter(slug=options["team"])
            if not teams:
                raise CommandError(f"Team {options['team']!r} not found.", returncode=2)
        for team in teams:
            self.stdout.write(f"{team.slug}: {reindex_team(team.pk)} entries")
