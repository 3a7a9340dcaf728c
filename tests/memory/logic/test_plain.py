"""The package itself: what it may lean on, and that it stays readable."""

import ast
import sys
from pathlib import Path

import memory.logic


FOLDER = Path(memory.logic.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))
ALLOWED = {"memory", "yaml"}
# Probabilities are computed in arrays; whose arrays they are, the judgement doesn't know. No page and no rule needs it.
ALLOWED_IN_JUDGEMENT = ALLOWED | {"numpy"}


def _imported(source: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_nothing_is_needed_but_memory_core_and_yaml():
    """seed 4 §8 and NF1: no embedding, no framework, no provider."""
    for path in MODULES:
        names = _imported(path.read_text())
        others = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)
        is_judgement = "judgement" in path.parts
        assert others <= (ALLOWED_IN_JUDGEMENT if is_judgement else ALLOWED), path
        inside = {name for name in names if name.startswith("memory.")}
        assert all(
            name.startswith(("memory.core.", "memory.logic.", "memory.notes.")) for name in inside
        ), path


def test_no_module_is_longer_than_three_hundred_lines_and_each_says_what_it_is_for():
    """seed 4 §8: no file over 300 lines; public parts are documented."""
    for path in MODULES:
        text = path.read_text()
        assert len(text.splitlines()) <= 300, path
        assert not text or ast.get_docstring(ast.parse(text)), path
