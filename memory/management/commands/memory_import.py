"""Brings a file of memory into a team, acting as one of its members: with their rights, policy and quota."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Team, User
from accounts.principals import user_principal
from memory.core.errors import MemoryFault
from memory.services.caller import MemoryCaller
from memory.services.importing import import_file
from memory.services.importing_report import Clash, Imported


class Command(BaseCommand):
    help = "Bring a file of memory into a team. Without --do nothing is changed, only said."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", metavar="TEAM", help="its short name")
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument("--as", dest="who", required=True, metavar="EMAIL", help="a member")
        parser.add_argument("--clash", choices=[str(one) for one in Clash], default="newer")
        parser.add_argument("--into", action="append", default=[], metavar="NAMED=HERE")
        parser.add_argument("--mine", action="store_true", help="the file's person is that member")
        parser.add_argument(
            "--do", action="store_true", help="do it, after a dry run was looked at"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        team = Team.objects.filter(slug=options["team"]).first()
        user = User.objects.filter(email__iexact=options["who"], is_active=True).first()
        if team is None or user is None or team.pk not in user_principal(user).team_ids:
            raise CommandError("There is no such team, or no such member of it.", returncode=2)
        into = dict(one.partition("=")[::2] for one in options["into"])
        try:
            with options["file"].open("rb") as file:
                report = import_file(
                    MemoryCaller(user_principal(user), team.pk),
                    file,
                    clash=options["clash"],
                    into=into,
                    as_mine=options["mine"],
                    dry_run=not options["do"],
                )
        except (OSError, MemoryFault) as wrong:
            raise CommandError(str(wrong)) from wrong
        self._print(report)
        if report.problems:
            raise SystemExit(1)

    def _print(self, report: Imported) -> None:
        for problem in report.problems:
            field = f" {problem.field}:" if problem.field else ""
            self.stderr.write(f"line {problem.line}:{field} {problem.message}")
        if report.problems:
            return
        for one in report.targets:
            self.stdout.write(
                f"{one.named} -> {one.to}: {one.new} new, {one.overwritten} overwritten, "
                f"{one.same + one.kept} unchanged, {one.refused} left out"
            )
        for refusal in report.refusals:
            self.stderr.write(
                f"line {refusal.line}: {refusal.key or refusal.namespace}: {refusal.why}"
            )
        for caught in report.caught:
            done = [f"blotted out: {', '.join(caught.secrets)}"] if caught.secrets else []
            done += [f"held for review: {caught.orders}"] if caught.orders else []
            self.stderr.write(f"line {caught.line}: {caught.key}: {'; '.join(done)}")
        for change in report.changes:
            self.stdout.write(f"change {change}")
        if report.dry_run:
            self.stdout.write("Nothing was changed. --do does it.")
