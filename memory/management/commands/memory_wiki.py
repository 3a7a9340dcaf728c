"""Reports what is wrong in a knowledge base, compiles its stale pages, or prints its log, with a member's rights."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Team, User
from accounts.principals import load_user_principal
from memory import services
from memory.core.errors import MemoryFault
from memory.services import MemoryCaller


class Command(BaseCommand):
    help = "Report what is wrong in a knowledge base, compile its stale pages, or print its log."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("team", metavar="TEAM", help="short name")
        parser.add_argument("namespace", metavar="TEXT", help="such as global:default")
        parser.add_argument(
            "--as", dest="member", metavar="EMAIL", required=True, help="with this member's rights"
        )
        choice = parser.add_mutually_exclusive_group()
        choice.add_argument("--compile", action="store_true", help="compile the stale pages anew")
        choice.add_argument("--log", action="store_true", help="print the log")
        parser.add_argument("--rules", action="store_true", help="compile without a model")

    def handle(self, *args: Any, **options: Any) -> None:
        team = Team.objects.filter(slug=options["team"]).first()
        if team is None:
            raise CommandError(f"Team {options['team']!r} not found.", returncode=2)
        user = User.objects.filter(email__iexact=options["member"]).first()
        if user is None:
            raise CommandError(f"User {options['member']!r} not found.", returncode=2)
        caller = MemoryCaller(load_user_principal(user), team.pk)
        try:
            self._perform(caller, options["namespace"], options)
        except MemoryFault as fault:
            raise CommandError(str(fault)) from fault

    def _perform(self, caller: MemoryCaller, namespace: str, options: dict[str, Any]) -> None:
        if options["log"]:
            for line in services.read_log(caller, namespace=namespace):
                self.stdout.write(f"{line.at.isoformat()} {line.action} {line.kind} {line.title}")
        elif options["compile"]:
            use_model = not options["rules"]
            for result in services.compile_stale_pages(
                caller, namespace=namespace, use_model=use_model
            ):
                self.stdout.write(f"{result.view.page.title}: compiled by {result.by}")
        else:
            report = services.lint_wiki(caller, namespace=namespace)
            for finding in report.findings:
                parts = (finding.kind, finding.page_id, finding.other, f"→ {finding.remedy}")
                self.stdout.write(" ".join(part for part in parts if part))
            self.stdout.write(f"{len(report.findings)} findings")
