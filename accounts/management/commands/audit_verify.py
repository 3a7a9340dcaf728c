"""Recomputes the audit chain of every team, or of one; the first link that doesn't fit ends with 1."""

from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from accounts.audit import ChainReport, verify
from accounts.models import Team


class Command(BaseCommand):
    help = "Verify the audit trail of every team, or of one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", nargs="?", metavar="TEAM", help="its short name or id")

    def handle(self, *args: Any, **options: Any) -> None:
        teams = _teams(options["team"])
        broken = 0
        for team in teams:
            report = verify(team.pk)
            broken += not report.intact
            self.stdout.write(f"{team.slug}: {_said(report)}")
        if broken:
            raise CommandError(f"{broken} of {len(teams)} chains broken.", returncode=1)


def _teams(named: str | None) -> list[Team]:
    if named is None:
        return list(Team.objects.order_by("slug"))
    try:
        which = Q(pk=UUID(named))
    except ValueError:
        which = Q(slug=named)
    found = list(Team.objects.filter(which))
    if not found:
        raise CommandError(f"There is no team {named!r}.", returncode=2)
    return found


def _said(report: ChainReport) -> str:
    if report.broken is not None:
        return f"broken at entry {report.broken.seq}: {report.broken.reason}"
    return f"intact, {report.length} entries, head {report.head}"
