"""Whoever opens memory's door in a transaction of their own is tried again when that one loses against another."""

import ast
from pathlib import Path

import memory.services


FOLDER = Path(memory.services.__file__).parent

# They keep what they changed in memory beside the transaction, which a second try would find changed.
NOT = {"rehearsing.py", "sandbox.py", "door.py"}


def opens(one: ast.AST) -> bool:
    return any(
        isinstance(part, ast.Call) and ast.unparse(part.func).lstrip("_") == "opened"
        for part in ast.walk(one)
    )


def is_tried_again(one: ast.FunctionDef) -> bool:
    return "tried_again" in map(ast.unparse, one.decorator_list)


def public(tree: ast.Module) -> list[ast.FunctionDef]:
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    return [one for one in functions if not one.name.startswith("_")]


def left_alone(name: str, source: str) -> list[str]:
    tree = ast.parse(source)
    return [f"{name}: {one.name}" for one in public(tree) if opens(one) and not is_tried_again(one)]


def test_every_service_that_opens_the_door_is_tried_again() -> None:
    files = [one for one in sorted(FOLDER.glob("*.py")) if one.name not in NOT]

    found = [line for one in files for line in left_alone(one.name, one.read_text())]

    assert len(files) > 40
    assert found == []


def test_one_that_is_not_is_found() -> None:
    source = """
@tried_again
def good(caller):
    with opened(caller, "view", "memory.listed") as door:
        return door

def bad(caller):
    with opened(caller, "view", "memory.listed") as door:
        return door

def other(caller):
    return caller
"""

    assert left_alone("a.py", source) == ["a.py: bad"]
