"""Every form of a page that starts a run is handled once: routes are found by the functions that their views reach."""

from collections.abc import Iterator
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from workflows.services.data_sets.evaluations import queue_evaluation
from workflows.services.runs.runs import queue_run
from workflows.views.repeated_forms import send_once


STARTS = {queue_run, queue_evaluation}
# Each is sent twice in tests/workflows/test_forms_sent_again.py.
ROUTES = {
    "workflows:start",
    "workflows:say",
    "workflows:try",
    "workflows:run_tests",
    "workflows:run_again",
    "workflows:start_evaluation",
    "workflows:chat_say",
    "workflows:public_say",
    "workflows:public_start",
    "workflows:tasks",
    "workflows:execute_task",
    "workflows:try_workflow",
}


def list_views() -> Iterator[tuple[str, FunctionType]]:
    """Yield the views of pages. Those of the API belong to no module of views."""
    for name, pattern in _walk(get_resolver().url_patterns, ""):
        view = unwrap(pattern.callback)
        if ".views." in view.__module__:
            yield name, view


def _walk(patterns: list[Any], namespace: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{pattern.namespace}:" if pattern.namespace else ""
            yield from _walk(pattern.url_patterns, namespace + inner)
        else:
            yield f"{namespace}{pattern.name}", pattern


def list_reached(view: FunctionType) -> set[Any]:
    """Return the functions of ours that the view reaches: those that it names, and so on."""
    reached: set[Any] = set()
    pending: list[Any] = [view]
    while pending:
        function = pending.pop()
        if function not in reached:
            reached.add(function)
            pending += _list_named(function)
    return reached


def _list_named(function: FunctionType) -> Iterator[FunctionType]:
    names = set(_list_names(function.__code__))
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    modules = [value for value in values if isinstance(value, ModuleType)]
    values += [
        getattr(module, name) for module in modules for name in names if hasattr(module, name)
    ]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    for value in values:
        inner = unwrap(value) if callable(value) else value
        if isinstance(inner, FunctionType) and inner.__module__.startswith("workflows."):
            yield inner


def _list_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_names(constant)


def test_form_that_starts_a_run_and_is_not_sent_once_fails_the_build() -> None:
    reached = {name: list_reached(view) for name, view in list_views()}
    starting = {name for name, functions in reached.items() if functions & STARTS}

    assert {name for name in starting if send_once not in reached[name]} == set()
    assert starting == ROUTES
