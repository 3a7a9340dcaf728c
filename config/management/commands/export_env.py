"""Write `.env.example` from config/env.py, so that the two can't differ."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.env import ROOT, Env, read_descriptions


HEAD = """\
# All environment variables, generated from config/env.py by `make docs`.
# Copy to .env and set what you need; on a single machine nothing is required.
# To use a file other than .env, set MNEMOFLOW_ENV_FILE.
"""


class Command(BaseCommand):
    help = "Write .env.example; with --check, only report whether it is outdated."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        path = ROOT / ".env.example"
        if not check:
            path.write_text(render_example())
        elif not path.exists() or path.read_text() != render_example():
            raise CommandError(".env.example is outdated: run `make docs`.")


def render_example() -> str:
    return HEAD + "".join(
        f"\n# {text}\n# {name.upper()}={_format_default(Env.model_fields[name].default)}\n"
        for name, text in read_descriptions().items()
    )


def _format_default(default: object) -> str:
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
