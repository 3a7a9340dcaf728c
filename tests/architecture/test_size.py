"""A tripwire for size. No exceptions without a dated reason in the table below."""

import ast
from collections.abc import Iterator
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
        lines = len(text.splitlines())
        if lines > LONGEST_MODULE:
            found.add(name)
        if lines > LONGEST_FUNCTION:
            found |= {f"{name}:{long}" for long in long_functions(ast.parse(text))}
    return found


def long_functions(tree: ast.AST) -> Iterator[str]:
    for node in statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield node.name


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All below it. No function is in an expression, of which there are ten times as many."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from statements(inner)


def test_long_functions_are_found_wherever_they_stand():
    body = "".join(f"{' ' * 12}x = {number}\n" for number in range(LONGEST_FUNCTION))
    sources = (
        f"class A:\n    if x:\n        pass\n    else:\n        def long():\n{body}",
        f"try:\n    pass\nexcept E:\n    with y:\n        async def long():\n{body}",
        f"match x:\n    case 1:\n        def long():\n{body}",
    )

    assert [list(long_functions(ast.parse(source))) for source in sources] == [["long"]] * 3


def test_nothing_is_too_long_but_what_has_a_dated_reason():
    allowed = {name for name, (until, _) in EXCEPTIONS.items() if date.today() <= until}  # noqa: DTZ011

    assert too_long() == allowed
    assert set(EXCEPTIONS) == allowed
