"""Says which walls hold on this machine. Exit status 1 when one is down that must stand."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.management.walls import Wall, walls


class Command(BaseCommand):
    help = "Look at every wall of this installation and say which ones hold."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--attacks", action="store_true", help="try every hostile program, not only the quick"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        found = []
        for wall in walls(thorough=options["attacks"]):
            found.append(wall)
            self.stdout.write(f"  {self._sign(wall)}  {wall.name:<20}{wall.said}")
        down = [wall for wall in found if wall.must and not wall.holds]
        if down:
            self.stdout.write(f"\n{len(down)} of {len(found)} must be mended.")
            sys.exit(1)
        self.stdout.write("\nAll that must hold holds.")

    def _sign(self, wall: Wall) -> str:
        if wall.holds:
            return self.style.SUCCESS("holds")
        return self.style.ERROR("DOWN ") if wall.must else self.style.WARNING("weak ")
