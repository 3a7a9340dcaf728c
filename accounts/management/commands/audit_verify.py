"""Recompute the audit chain of every team, or of one team; the exit code is 1 if a link doesn't fit.

With ``--head FILE``, the command also checks that the trail still contains the entries that signed heads name.
"""

from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from accounts.audit import ChainReport, verify
from accounts.models import Team
from accounts.services.checkpoints import HeadCheck, check_head, read_heads


class Command(BaseCommand):
    help = "Verify the audit trail of every team, or of one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "team", nargs="?", metavar="TEAM", help="short name or ID; all teams if omitted"
        )
        help_text = "file of signed heads (JSON, or one per line), to prove that no entries were removed from the end"
        parser.add_argument("--head", metavar="FILE", type=Path, help=help_text)

    def handle(self, *args: Any, **options: Any) -> None:
        teams = _find_teams(options["team"])
        broken_count = 0
        for team in teams:
            report = verify(team.pk)
            broken_count += not report.intact
            self.stdout.write(f"{team.slug}: {_describe_report(report)}")
        checks = _check_heads(options["head"], teams) if options["head"] else []
        for check in checks:
            signed_at = f"{check.head.at:%Y-%m-%d %H:%M}"
            self.stdout.write(f"head {check.head.seq} of {signed_at}: {_describe_check(check)}")
        if broken_count:
            message = f"{broken_count} of {len(teams)} audit trails are broken."
            raise CommandError(message, returncode=1)
        if failed := sum(not check.is_valid for check in checks):
            message = f"{failed} of {len(checks)} signed heads failed verification."
            raise CommandError(message, returncode=1)


def _find_teams(name_or_id: str | None) -> list[Team]:
    if name_or_id is None:
        return list(Team.objects.order_by("slug"))
    try:
        condition = Q(pk=UUID(name_or_id))
    except ValueError:
        condition = Q(slug=name_or_id)
    teams = list(Team.objects.filter(condition))
    if not teams:
        raise CommandError(f"Team {name_or_id!r} not found.", returncode=2)
    return teams


def _check_heads(path: Path, teams: list[Team]) -> list[HeadCheck]:
    """Check the heads of the chosen teams. A file without a head of these teams is an error."""
    try:
        heads = list(read_heads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}", returncode=2) from error
    team_ids = {team.pk for team in Team.objects.all()}
    chosen_ids = {team.pk for team in teams}
    checks = [
        check_head(head)
        for head in heads
        if head.team_id in chosen_ids or head.team_id not in team_ids
    ]
    if not checks:
        raise CommandError(f"{path}: contains no signed head of these teams.", returncode=2)
    return checks


def _describe_report(report: ChainReport) -> str:
    if report.broken_link is not None:
        return f"broken at entry {report.broken_link.seq}: {report.broken_link.reason}"
    return f"intact, {report.length} entries, head {report.head}"


_FINDINGS = {
    "valid": "valid, no entries were removed from the end",
    "forged": "not signed by this installation",
    "changed": "the entry at this position is different",
    "no team": "the team no longer exists",
}


def _describe_check(check: HeadCheck) -> str:
    if check.finding == "cut":
        return f"entries were removed: the trail ends at {check.length}"
    return _FINDINGS[check.finding]
