"""Report which isolation layers work on this machine, and what the site lacks. The exit status is 1 if a required check fails."""

import sys
from itertools import chain
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.management.isolation_checks import run_isolation_checks
from config.management.operation_checks import run_operation_checks
from config.management.results import CheckResult


class Command(BaseCommand):
    help = "Check every protection of this installation, and its parts: database, keys, workers, broker, plug-ins, disks."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        help_text = "run all attack programs, not only the quick ones"
        parser.add_argument("--attacks", action="store_true", help=help_text)

    def handle(self, *args: Any, **options: Any) -> None:
        results = []
        isolation_results = run_isolation_checks(thorough=options["attacks"])
        for result in chain(isolation_results, run_operation_checks()):
            results.append(result)
            self.stdout.write(f"  {self._format_status(result)}  {result.name:<20}{result.detail}")
        failed = [result for result in results if result.required and not result.passed]
        if failed:
            self.stdout.write(f"\n{len(failed)} of {len(results)} checks failed.")
            sys.exit(1)
        self.stdout.write("\nAll required checks passed.")

    def _format_status(self, result: CheckResult) -> str:
        if result.passed:
            return self.style.SUCCESS("ok    ")
        return self.style.ERROR("FAILED") if result.required else self.style.WARNING("warn  ")
