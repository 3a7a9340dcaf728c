"""Writes docs/reference from the code; with --check, it fails and lists the outdated pages instead."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.env import ROOT
from workflows.management.reference import PAGES


class Command(BaseCommand):
    help = "Write docs/reference/*.md from the code."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check",
            action="store_true",
            help="fail and list outdated files, write nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder = ROOT / "docs" / "reference"
        outdated = [name for name, render in PAGES.items() if _is_outdated(folder / name, render())]
        if options["check"]:
            if outdated:
                raise CommandError(f"Outdated: {', '.join(outdated)}. Run: manage.py export_docs")
            return
        folder.mkdir(parents=True, exist_ok=True)
        for name in outdated:
            (folder / name).write_text(PAGES[name](), encoding="utf-8")
            self.stdout.write(f"docs/reference/{name}")


def _is_outdated(path: Path, text: str) -> bool:
    return not path.exists() or path.read_text(encoding="utf-8") != text
