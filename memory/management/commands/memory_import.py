"""Imports a memory file into a team with the permissions, policy and quota of one of its members."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Team, User
from accounts.principals import load_user_principal
from memory.core.errors import MemoryFault
from memory.services.gateway.caller import MemoryCaller
from memory.services.transfer.import_report import ConflictRule, ImportReport
from memory.services.transfer.importing import import_file


class Command(BaseCommand):
    help = "Import a memory file into a team. Without --do, only a preview is printed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", metavar="TEAM", help="short name of the team")
        parser.add_argument("file", metavar="FILE", type=Path, help="file that memory_export wrote")
        parser.add_argument(
            "--as",
            dest="email",
            required=True,
            metavar="EMAIL",
            help="email of the member to act as",
        )
        parser.add_argument(
            "--on-conflict",
            choices=[str(rule) for rule in ConflictRule],
            default="newer",
            help="version to keep if an entry exists already (default: newer)",
        )
        parser.add_argument(
            "--into",
            action="append",
            default=[],
            metavar="NAMED=HERE",
            help="import the file's namespace NAMED into the namespace HERE (repeatable)",
        )
        parser.add_argument(
            "--mine",
            action="store_true",
            help="import the memory about the file's person as memory about this member",
        )
        parser.add_argument(
            "--restore",
            action="store_true",
            help="bring back what was forgotten here since, too",
        )
        parser.add_argument(
            "--do", action="store_true", help="apply the import instead of only previewing it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        team = Team.objects.filter(slug=options["team"]).first()
        user = User.objects.filter(email__iexact=options["email"], is_active=True).first()
        principal = load_user_principal(user) if user else None
        if team is None or principal is None or team.pk not in principal.team_ids:
            raise CommandError("Team or member not found.", returncode=2)
        renamed_namespaces = dict(pair.partition("=")[::2] for pair in options["into"])
        try:
            with options["file"].open("rb") as file:
                report = import_file(
                    MemoryCaller(principal, team.pk),
                    file,
                    on_conflict=options["on_conflict"],
                    into=renamed_namespaces,
                    as_mine=options["mine"],
                    dry_run=not options["do"],
                    restore=options["restore"],
                )
        except (OSError, MemoryFault) as error:
            raise CommandError(str(error)) from error
        self._print_report(report)
        if report.problems:
            raise SystemExit(1)

    def _print_report(self, report: ImportReport) -> None:
        for problem in report.problems:
            field = f" {problem.field}:" if problem.field else ""
            self.stderr.write(f"line {problem.line}:{field} {problem.message}")
        if report.problems:
            return
        for target in report.targets:
            self.stdout.write(
                f"{target.name_in_file} -> {target.to}: {target.new_count} new, {target.overwritten_count} overwritten, "
                f"{target.same_count + target.kept_count} unchanged, {target.refused_count} skipped, "
                f"{target.forgotten_count} forgotten here"
            )
        for refusal in report.refusals:
            name = refusal.key or refusal.namespace
            self.stderr.write(f"line {refusal.line}: {name}: {refusal.why}")
        for finding in report.findings:
            actions = [f"removed secrets: {', '.join(finding.secrets)}"] if finding.secrets else []
            actions += [f"held for review: {finding.orders}"] if finding.orders else []
            self.stderr.write(f"line {finding.line}: {finding.key}: {'; '.join(actions)}")
        for change in report.changes:
            self.stdout.write(f"change {change}")
        if report.contradiction_count:
            self.stdout.write(f"{report.contradiction_count} contradictions wait for review.")
        if report.forgotten_count:
            self.stdout.write("Use --restore to bring back what was forgotten here.")
        if report.dry_run:
            self.stdout.write("Preview only, nothing was changed. Use --do to import.")
