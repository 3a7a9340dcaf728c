"""Find what makes a test fail now and then: fixed waits, comparisons of clocks, and a person whom other tests share."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final


CLOCKS: Final = {"monotonic", "perf_counter", "process_time", "thread_time", "time_ns"}
SHARED_PEOPLE: Final = {"first_owner"}
TIMED: Final = "timed"
# A module without any of these words has no such line; most have none, and to read a module takes long.
WORDS: Final = ("sleep", "wait_for_timeout", "time.time", *CLOCKS, *SHARED_PEOPLE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Restless:
    """A line that depends on the machine's speed or on other tests."""

    line: int
    reason: str


def find_restless(source: str, *, is_journey: bool = False) -> list[Restless]:
    """Return what a test module must not do, in the order of its lines."""
    if not any(word in source for word in WORDS):
        return []
    tree = ast.parse(source)
    found = {*_find_waits(tree), *_find_clock_comparisons(tree)}
    if is_journey:
        found |= set(_find_shared_people(tree))
    return sorted(found, key=lambda restless: restless.line)


def _find_waits(tree: ast.Module) -> Iterator[Restless]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_wait(node):
            yield Restless(node.lineno, "waits for a fixed time")


def _is_wait(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if name == "asyncio.sleep":  # with nothing it only lets others have their turn
        return not (
            call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
        )
    return name == "time.sleep" or name.endswith(".wait_for_timeout")


def _find_clock_comparisons(tree: ast.Module) -> Iterator[Restless]:
    if _is_marked_timed(_read_module_marks(tree)):
        return
    for function in ast.walk(tree):
        if isinstance(function, Function) and not _is_marked_timed(function.decorator_list):
            times = _find_times(function)
            for node in ast.walk(function):
                if isinstance(node, ast.Assert) and _compares_times(node.test, times):
                    yield Restless(node.lineno, "compares times outside of `timed`")


def _read_module_marks(tree: ast.Module) -> Iterator[ast.expr]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            yield node.value


def _is_marked_timed(marks: Iterable[ast.expr]) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == TIMED
        for mark in marks
        for node in ast.walk(mark)
    )


def _find_times(function: Function) -> set[str]:
    """Return the names that hold a time or what was computed from one."""
    times: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if _has_time(node.value, times):
                times |= {name.id for t in targets for name in ast.walk(t) if isinstance(name, ast.Name)}  # fmt: skip
    return times


def _compares_times(test: ast.expr, times: set[str]) -> bool:
    return any(isinstance(node, ast.Compare) and _has_time(node, times) for node in ast.walk(test))


def _has_time(value: ast.expr, times: set[str]) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in times)
        or (isinstance(node, ast.Call) and _is_clock(ast.unparse(node.func)))
        for node in ast.walk(value)
    )


def _is_clock(name: str) -> bool:
    return name == "time.time" or name.rpartition(".")[2] in CLOCKS


def _find_shared_people(tree: ast.Module) -> Iterator[Restless]:
    for function in ast.walk(tree):
        if isinstance(function, Function):
            for argument in function.args.args:
                if argument.arg in SHARED_PEOPLE:
                    yield Restless(argument.lineno, "shares a person with other tests")
