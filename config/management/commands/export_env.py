"""Writes `.env.example` from config/env.py, so that the two can't differ."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.env import ROOT, Env


HEAD = """\
# Every environment variable, from config/env.py (`make docs` writes this file).
# Copy to .env and set what you need; nothing is needed on one machine.
# Another file than .env: MNEMOFLOW_ENV_FILE.
"""


class Command(BaseCommand):
    help = "Write .env.example; with --check only say whether it is stale."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        path = ROOT / ".env.example"
        if not check:
            path.write_text(example())
        elif not path.exists() or path.read_text() != example():
            raise CommandError(".env.example is stale: run `make docs`.")


def example() -> str:
    return HEAD + "".join(
        f"\n# {field.description}\n# {name.upper()}={_shown(field.default)}\n"
        for name, field in Env.model_fields.items()
    )


def _shown(default: object) -> str:
    match default:
        case None:
            return ""
        case bool():
            return str(int(default))
        case tuple():
            return ",".join(default)
        case Path():
            return str(default.relative_to(ROOT))
        case _:
            return str(default)
