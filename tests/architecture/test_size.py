"""A tripwire for size. No exceptions without a dated reason in the table below."""

import ast
from datetime import date
from pathlib import Path

from config.env import ROOT


LONGEST_MODULE, LONGEST_FUNCTION = 500, 60

# path or path:function → (until when, why). An entry that is past its day, or no longer needed, fails too.
EXCEPTIONS: dict[str, tuple[date, str]] = {}


def sources() -> list[Path]:
    folders = ("config", "accounts", "memory", "workflows", "bench", "tests")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return [path for path in found if "migrations" not in path.parts]


def too_long() -> set[str]:
    found = set()
    for path in sources():
        name, text = path.relative_to(ROOT).as_posix(), path.read_text()
        if len(text.splitlines()) > LONGEST_MODULE:
            found.add(name)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    found.add(f"{name}:{node.name}")
    return found


def test_nothing_is_too_long_but_what_has_a_dated_reason():
    allowed = {name for name, (until, _) in EXCEPTIONS.items() if date.today() <= until}  # noqa: DTZ011

    assert too_long() == allowed
    assert set(EXCEPTIONS) == allowed
