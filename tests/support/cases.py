"""Tests that go through many cases: one test for all of them, which names each case that failed."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, TypeVar

import pytest


Test = TypeVar("Test", bound=Callable[..., Any])  # what a test takes and gives is its own
Arguments = Mapping[str, Any]

NAMES_SHOWN: Final = 20
FAILURES: Final = (Exception, pytest.fail.Exception)  # the latter is what `pytest.raises` misses


def for_each(
    names: str,
    values: Iterable[Any],
    *,
    ids: Iterable[object] | Callable[[Any], object] | None = None,
) -> Callable[[Test], Test]:
    """Let one test go through all cases, where `pytest.mark.parametrize` makes a test of each.

    It is for cases that take less time than pytest takes for a test. They share the fixtures of the test, so each has to
    leave these as they were. All are tried. The first failure is raised, with the names of the cases that failed.
    """
    keys = [name.strip() for name in names.split(",")]
    listed = ids if ids is None or callable(ids) else [*ids]
    cases = [_read_case(keys, value, listed, number) for number, value in enumerate(values)]

    def decorate(test: Test) -> Test:
        run: Any
        if inspect.iscoroutinefunction(test):

            @wraps(test)
            async def run(**fixtures: Any) -> None:
                failures = _start(cases)
                for name, arguments in cases:
                    with failures.record(name):
                        await test(**arguments, **fixtures)
                failures.raise_first()

        else:

            @wraps(test)
            def run(**fixtures: Any) -> None:
                failures = _start(cases)
                for name, arguments in cases:
                    with failures.record(name):
                        test(**arguments, **fixtures)
                failures.raise_first()

        run.__signature__ = _leave_out(inspect.signature(test), keys)
        return run  # it is called as the test, without the arguments of a case

    return decorate


def _start(cases: Sequence[tuple[str, Arguments]]) -> "_Failures":
    if not cases:
        pytest.skip("there are no cases")
    return _Failures(len(cases))


@dataclass
class _Failures:
    """The cases that failed so far, by their names."""

    count: int
    errors: dict[str, BaseException] = field(default_factory=dict)

    @contextmanager
    def record(self, name: str) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            self.errors[name] = error

    def raise_first(self) -> None:
        if not self.errors:
            return
        names = [*self.errors][:NAMES_SHOWN]
        more = f" and {len(self.errors) - len(names)} more" * (len(self.errors) > len(names))
        first = next(iter(self.errors.values()))
        first.add_note(f"{len(self.errors)} of {self.count} cases failed: {', '.join(names)}{more}")
        raise first


def _read_case(
    keys: Sequence[str],
    value: Any,
    ids: Sequence[object] | Callable[[Any], object] | None,
    number: int,
) -> tuple[str, Arguments]:
    """Return the name of a case and the arguments of the test."""
    if isinstance(value, type(pytest.param())):
        if value.marks:
            raise ValueError("a case can't have marks of its own")
        row, name = value.values, str(value.id) if value.id else None
    else:
        row, name = (value,) if len(keys) == 1 else tuple(value), None
    if name is None:
        parts = map(ids, row) if callable(ids) else [ids[number]] if ids else map(repr, row)
        name = "-".join(map(str, parts))
    return name, dict(zip(keys, row, strict=True))


def _leave_out(signature: inspect.Signature, keys: Sequence[str]) -> inspect.Signature:
    """Return what pytest is asked for: the fixtures, without the arguments of a case."""
    if missing := set(keys) - set(signature.parameters):
        raise ValueError(f"the test doesn't take {missing}")
    fixtures = [value for name, value in signature.parameters.items() if name not in keys]
    return signature.replace(parameters=fixtures)
