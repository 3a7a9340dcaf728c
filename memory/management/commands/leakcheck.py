"""Tries to read one person's memory as another person in every way, and reports the leaks.

Exit status: 0 if nothing leaked; 1 if something leaked, which with --plant is the planted leak; 2 if the check refused to
run; 3 if a planted leak was not found or nothing was asked, so that the check itself is broken.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError

from accounts.models import Team
from accounts.tenancy import TenantQuerySet
from config.postgres.missing_tables import NO_TABLES, is_table_missing
from memory import permissions
from memory.host import get_host
from memory.management.leak_checks import Report, check_leaks
from memory.models.curation import ProposalQuerySet
from memory.models.entries import EntryQuerySet
from memory.models.namespaces import NamespaceQuerySet


def _list_whole_team(self: Any, principal: Any) -> Any:
    return TenantQuerySet.visible_to(self, principal)


# The filters that can be disabled: the class or module, the attribute, and its replacement.
PLANTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "namespace": (NamespaceQuerySet, "visible_to", _list_whole_team),
    "entry": (EntryQuerySet, "visible_to", _list_whole_team),
    "proposal": (ProposalQuerySet, "visible_to", _list_whole_team),
    "permission": (permissions, "find_reasons", lambda *_: iter([permissions.AccessReason.ROLE])),
}
MAX_LEAKS = 40


def list_plants() -> list[str]:
    """Return the filters of memory and the areas of the host's tables in which a hole can be made."""
    return sorted({*PLANTS, *get_host().leak_areas.holes})


class Command(BaseCommand):
    help = "Try to read one user's memory as another user in every possible way. All test data is removed afterwards."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--plant", nargs="?", const="namespace", choices=list_plants(), metavar="FILTER",
            help=f"disable a filter first and check that the leak is found: {', '.join(list_plants())}",
        )  # fmt: skip
        parser.add_argument(
            "--thorough", action="store_true", help="check all URLs, not only those of memory"
        )
        parser.add_argument(
            "--really", action="store_true", help="run although this database contains teams"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        teams = _count_teams()
        if teams and not options["really"]:
            raise CommandError(
                f"This database has data of {teams} team(s). The check doesn't change it and removes its own "
                "test data, but it keeps the database busy. Use --really to run it anyway.",
                returncode=2,
            )
        plant = options["plant"]
        area = plant if plant in get_host().leak_areas.holes else ""
        with _plant_leak(plant):
            report = check_leaks(
                thorough=options["thorough"],
                stop_at_first=plant is not None,
                stop_at_area=area,
                report_progress=self._get_logger(options["verbosity"]),
            )
        self._print(report)
        if not report.outputs.total():
            self.stderr.write("Nothing was asked, so this says nothing about leaks.")
            raise SystemExit(3)
        found = [leak for leak in report.leaks if not area or leak.owner.endswith(f"({area})")]
        if plant and not found:
            self.stderr.write(f"The planted leak ({plant}) was not found.")
            raise SystemExit(3)
        if report.leaks:
            raise SystemExit(1)
        self._print_scope(teams)

    def _print_scope(self, teams: int) -> None:
        """Say about whose data the check found no leak, as a database without teams has none of its own."""
        if teams == 0:
            self.stdout.write(
                "This database has no teams. Nothing leaked from the check's own test data; "
                "this says nothing about the memory of people."
            )
        else:
            self.stdout.write(
                f"Nothing leaked from the check's own test data, beside the data of {teams} team(s)."
            )

    def _get_logger(self, verbosity: int) -> Callable[[str], object]:
        return self.stderr.write if verbosity > 1 else lambda _line: None

    def _print(self, report: Report) -> None:
        self.stdout.write(f"{'area':<16}{'requests':>10}{'leaks':>8}")
        leaks = Counter(_find_area(leak.location) for leak in report.leaks)
        for area, count in sorted(report.outputs.items()):
            self.stdout.write(f"{area:<16}{count:>10}{leaks[area]:>8}")
        total = sum(report.outputs.values())
        self.stdout.write(f"{'all':<16}{total:>10}{len(report.leaks):>8}")
        for path, count in sorted(report.failures.items()):
            self.stderr.write(f"answered with an error: {path} ({count})")
        for leak in sorted(set(report.leaks), key=str)[:MAX_LEAKS]:
            self.stdout.write(
                f"LEAK {leak.location}: {leak.attacker} saw data of {leak.owner} ({leak.encoding})"
            )


def _count_teams() -> int:
    try:
        return Team.objects.count()
    except ProgrammingError as error:
        if not is_table_missing(error):
            raise
        raise CommandError(NO_TABLES, returncode=2) from None


def _find_area(location: str) -> str:
    if location.startswith("node "):
        return "node kinds"
    if " /" not in location:
        return "rows"
    return "API" if " /api/" in location else "pages"


@contextmanager
def _plant_leak(name: str | None) -> Iterator[None]:
    if name is None:
        yield
        return
    patches = [PLANTS[name]] if name in PLANTS else get_host().leak_areas.holes[name]
    with ExitStack() as stack:
        for owner, attribute, replacement in patches:
            stack.enter_context(patch.object(owner, attribute, replacement))
        yield
