"""Prints what stored runs need on disk: by week, as PostgreSQL measures it, and by workflow, as an estimate."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.template.defaultfilters import filesizeformat

from accounts.models import Team
from workflows.execution.history.upkeep import list_weeks, tidy_history
from workflows.services.runs.storage import load_storage


class Command(BaseCommand):
    help = "Prints what stored runs need on disk, by week and by workflow; --tidy deletes first what is due."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--tidy",
            action="store_true",
            help="first create the partitions of coming weeks and delete the runs whose days are over",
        )

    def handle(self, *args: Any, **options: Any) -> None:  # Any: Django's signature
        tidied = dict(tidy_history()) if options["tidy"] else {}
        weeks = [
            {"week": week.name, "runs": week.run_count, "bytes": week.size} for week in list_weeks()
        ]
        workflows = [
            {
                "team": team.name,
                "workflow": str(row.workflow.pk),
                "name": row.workflow.name,
                "runs": row.run_count,
                "bytes": row.size,
                "keep_days": row.keep_days,
                "keep_failed_days": row.keep_failed_days,
            }
            for team in Team.objects.order_by("name", "id")
            for row in load_storage(team.pk)
        ]
        if options["json"]:
            report = {"weeks": weeks, "workflows": workflows, "tidied": tidied}
            self.stdout.write(json.dumps(report, ensure_ascii=False))
            return
        for name, count in tidied.items():
            self.stdout.write(f"{name}: {count}")
        self._print(
            "week", [(week["week"] or "older", week["runs"], week["bytes"]) for week in weeks]
        )
        rows = [(f"{row['team']}: {row['name']}", row["runs"], row["bytes"]) for row in workflows]
        self._print("workflow", rows)

    def _print(self, title: str, rows: list[tuple[Any, Any, Any]]) -> None:  # Any: JSON values
        self.stdout.write(f"\n{title:40} {'runs':>12} {'size':>12}")
        for name, runs, size in rows:
            self.stdout.write(f"{name[:40]:40} {runs:12,} {filesizeformat(size):>12}")
