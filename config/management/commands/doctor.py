"""Report which isolation layers hold on this machine. The exit status is 1 when a required one doesn't."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.management.walls import Wall, check_walls


class Command(BaseCommand):
    help = "Check every protection of this installation."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--attacks",
            action="store_true",
            help="run all attack programs, not only the quick ones",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        walls_ = []
        for wall in check_walls(thorough=options["attacks"]):
            walls_.append(wall)
            self.stdout.write(f"  {self._sign(wall)}  {wall.name:<20}{wall.detail}")
        down = [wall for wall in walls_ if wall.must and not wall.holds]
        if down:
            self.stdout.write(f"\n{len(down)} of {len(walls_)} checks failed.")
            sys.exit(1)
        self.stdout.write("\nAll required checks passed.")

    def _sign(self, wall: Wall) -> str:
        if wall.holds:
            return self.style.SUCCESS("ok    ")
        return self.style.ERROR("FAILED") if wall.must else self.style.WARNING("warn  ")
