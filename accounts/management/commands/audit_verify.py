"""Recomputes the audit chain of every team, or of one; the first link that doesn't fit ends with 1.

With ``--head FILE`` it also holds the trail against signed heads that were kept elsewhere: that it still reaches
as far as they say, by the very same entries.
"""

from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from accounts.audit import ChainReport, verify
from accounts.models import Team
from accounts.services.heads import Held, check_head, read_heads


class Command(BaseCommand):
    help = "Verify the audit trail of every team, or of one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", nargs="?", metavar="TEAM", help="its short name or id")
        parser.add_argument(
            "--head",
            metavar="FILE",
            type=Path,
            help="signed heads kept elsewhere (JSON, or one a line): prove that nothing newest was cut off",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        teams = _teams(options["team"])
        broken = 0
        for team in teams:
            report = verify(team.pk)
            broken += not report.intact
            self.stdout.write(f"{team.slug}: {_said(report)}")
        held = _held(options["head"], teams) if options["head"] else []
        for one in held:
            self.stdout.write(
                f"head {one.head.seq} of {one.head.at:%Y-%m-%d %H:%M}: {_of_head(one)}"
            )
        if broken:
            raise CommandError(f"{broken} of {len(teams)} chains broken.", returncode=1)
        if failed := sum(not one.holds for one in held):
            raise CommandError(f"{failed} of {len(held)} signed heads don't hold.", returncode=1)


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


def _held(path: Path, teams: list[Team]) -> list[Held]:
    """Of the teams that were asked for; of none of theirs a file proves nothing."""
    try:
        heads = list(read_heads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}", returncode=2) from error
    known = {team.pk for team in Team.objects.all()}
    asked = {team.pk for team in teams}
    found = [
        check_head(head) for head in heads if head.team_id in asked or head.team_id not in known
    ]
    if not found:
        raise CommandError(f"{path}: no head of the teams asked for.", returncode=2)
    return found


def _said(report: ChainReport) -> str:
    if report.broken is not None:
        return f"broken at entry {report.broken.seq}: {report.broken.reason}"
    return f"intact, {report.length} entries, head {report.head}"


_FINDINGS = {
    "holds": "holds, nothing newest was cut off",
    "forged": "not signed by this installation",
    "changed": "another entry stands in its place",
    "no team": "there is no such team any more",
}


def _of_head(one: Held) -> str:
    if one.finding == "cut":
        return f"cut off: the trail ends at {one.length}"
    return _FINDINGS[one.finding]
