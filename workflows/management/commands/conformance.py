"""Runs a conformance suite: prints what differs, then ``N passed, M failed``."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workflows.engine.nodes import build_kinds
from workflows.engine.testing.conformance import ConformanceCase, Verdict, evaluate_case, read_cases
from workflows.management.backends import build_backend


class Command(BaseCommand):
    help = "Run the cases.json of a folder against the engine."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR")
        parser.add_argument("--only", nargs="+", action="extend", default=[], metavar="GROUP")
        parser.add_argument("--json", action="store_true", dest="as_json")
        parser.add_argument("--durable", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            cases = read_cases(options["folder"], options["only"])
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"No suite in {options['folder']}: {error}") from error
        if not cases:
            groups = sorted({case.group for case in read_cases(options["folder"])})
            raise CommandError(f"Unknown group of cases. Available: {', '.join(groups)}.")
        verdicts = asyncio.run(_run_cases(cases, durable=options["durable"]))
        failed = [verdict for verdict in verdicts if not verdict.has_passed]
        if options["as_json"]:
            self.stdout.write(json.dumps(_build_report(verdicts), ensure_ascii=False, indent=2))
        else:
            self._print(verdicts, failed)
        if failed:
            raise SystemExit(1)

    def _print(self, verdicts: list[Verdict], failed: list[Verdict]) -> None:
        for verdict in failed:
            self.stdout.write(f"{verdict.case.id}  ({verdict.case.group})")
            if verdict.missing_kinds:
                self.stdout.write(f"  needs {', '.join(verdict.missing_kinds)}")
            for difference in verdict.differences:
                self.stdout.write(f"  {difference.field}")
                self.stdout.write(f"    expected {_format_value(difference.expected)}")
                self.stdout.write(f"    got      {_format_value(difference.actual)}")
        missing = Counter(kind for verdict in failed for kind in verdict.missing_kinds)
        for kind, count in sorted(missing.items()):
            self.stdout.write(f"not built: {kind} ({count} cases)")
        self.stdout.write(f"{len(verdicts) - len(failed)} passed, {len(failed)} failed")


async def _run_cases(cases: list[ConformanceCase], *, durable: bool) -> list[Verdict]:
    backend, kinds = build_backend(durable=durable, offline=True), build_kinds()
    try:
        return [await evaluate_case(case, backend, kinds) for case in cases]
    finally:
        await backend.close()


def _format_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _build_report(verdicts: list[Verdict]) -> dict[str, Any]:
    return {
        "passed": sum(verdict.has_passed for verdict in verdicts),
        "failed": sum(not verdict.has_passed for verdict in verdicts),
        "cases": [
            {
                "id": verdict.case.id,
                "group": verdict.case.group,
                "passed": verdict.has_passed,
                "status": verdict.actual.status,
                "error": verdict.actual.error,
                "missing_kinds": list(verdict.missing_kinds),
                "differences": [
                    {
                        "what": difference.field,
                        "expected": difference.expected,
                        "got": difference.actual,
                    }
                    for difference in verdict.differences
                ],
            }
            for verdict in verdicts
        ],
    }
