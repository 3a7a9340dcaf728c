"""Every service that opens a namespace in a transaction of its own is retried when it loses a conflict."""

import ast
from pathlib import Path

import memory.services


FOLDER = Path(memory.services.__file__).parent

OPENERS = {"open_namespace", "open_entry", "_open", "open_for_query", "open_embedded"}

# They keep what they changed in memory beside the transaction, so a second attempt would find it changed.
EXCEPTIONS = {"sandbox/dry_run.py", "sandbox/sandbox.py", "gateway/gateway.py"}


def opens_namespace(function: ast.FunctionDef, openers: set[str]) -> bool:
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in openers
        for node in ast.walk(function)
    )


def is_retried_or_context_manager(function: ast.FunctionDef) -> bool:
    """A context manager runs inside its caller's function, which is the one that has to be retried."""
    return bool(
        {"retry_on_conflict", "contextmanager"} & {*map(ast.unparse, function.decorator_list)}
    )


def is_inside_namespace(function: ast.FunctionDef) -> bool:
    """It gets a namespace that its caller opened, and with it the caller's transaction."""
    return any(argument.arg == "access" for argument in function.args.args)


def list_unretried(name: str, source: str) -> list[str]:
    """A private function that opens one and is not retried itself makes an opener of every function that calls it."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    unretried = [
        function
        for function in functions
        if not is_retried_or_context_manager(function) and not is_inside_namespace(function)
    ]
    openers: set[str] = set()
    while more := {f.name for f in unretried if opens_namespace(f, OPENERS | openers)} - openers:
        openers |= more
    return [
        f"{name}: {function.name}"
        for function in unretried
        if function.name in openers and not function.name.startswith("_")
    ]


def test_every_service_that_opens_a_namespace_is_retried() -> None:
    sources = {
        path.relative_to(FOLDER).as_posix(): path.read_text() for path in FOLDER.rglob("*.py")
    }
    openers = [source for source in sources.values() if "open_namespace(" in source]

    unretried = [
        function
        for name, source in sorted(sources.items())
        if name not in EXCEPTIONS
        for function in list_unretried(name, source)
    ]

    assert len(sources) > 60
    assert len(openers) > 25
    assert unretried == []


def test_service_that_is_not_retried_is_found() -> None:
    source = """
@retry_on_conflict
def good(caller):
    with open_namespace(caller, "view", "memory.listed") as access:
        return access

def bad(caller):
    with open_namespace(caller, "view", "memory.listed") as access:
        return access

def worse(caller):
    with _open(caller, "view", "memory.listed", None) as access:
        return access

def _helper(caller):
    with open_namespace(caller, "view", "memory.listed") as access:
        return access

def worst(caller):
    return _helper(caller)

def other(caller):
    return caller
"""

    assert list_unretried("a.py", source) == ["a.py: bad", "a.py: worse", "a.py: worst"]
