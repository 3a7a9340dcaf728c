"""Reports on the documents in a folder: how many import, open, validate and run here, and what each lacks.

manage.py import_report DIR                      reads, draws and validates each document
manage.py import_report DIR --run --json FILE    runs each as well, offline, with what it lacks pinned
"""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workflows.engine.testing.stand_ins import SampleFiles
from workflows.management.backends import ShellBackend
from workflows.management.document_trials import Trial, count_totals, list_files, try_documents
from workflows.management.report_text import format_report, serialize_report


class Command(BaseCommand):
    help = "Report what the documents in a folder lack in this installation."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR")
        parser.add_argument(
            "--run",
            action="store_true",
            help="run each offline; missing nodes and requests are pinned",
        )
        parser.add_argument("--json", type=Path, dest="json_file", metavar="FILE")
        parser.add_argument("--details", action="store_true", help="print what each document lacks")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder")
        logging.disable(logging.ERROR)  # the failures of steps are in the report
        try:
            trials = asyncio.run(_try_all(folder, is_run=options["run"]))
        finally:
            logging.disable(logging.NOTSET)
        totals = count_totals(trials)
        if options["json_file"]:
            tree = {"totals": totals, "files": [_serialize(trial) for trial in trials]}
            text = json.dumps(tree, ensure_ascii=False, indent=1)
            options["json_file"].write_text(text, encoding="utf-8")
        for trial in trials:
            self._print_trial(trial, has_details=options["details"])
        self.stdout.write(", ".join(f"{name} {count}" for name, count in totals.items()))

    def _print_trial(self, trial: Trial, *, has_details: bool) -> None:
        if trial.reasons:
            self.stdout.write(f"{trial.file}: {trial.reasons[0][:300]}")
        if has_details and trial.report:
            self.stdout.write(f"{trial.file}:")
            for line in format_report(trial.report, trial.titles, trial.notes):
                self.stdout.write(f"  {line}")


async def _try_all(folder: Path, *, is_run: bool) -> list[Trial]:
    backend = ShellBackend(offline=True, files=SampleFiles()) if is_run else None
    try:
        return await try_documents(list_files(folder), folder, backend)
    finally:
        if backend is not None:
            await backend.close()


def _serialize(trial: Trial) -> dict[str, Any]:
    return {
        "file": trial.file,
        "imported": trial.imported,
        "opens": trial.opens,
        "validates": trial.validates,
        "runs": trial.runs,
        "reasons": list(trial.reasons),
        **(serialize_report(trial.report) if trial.report else {}),
    }
