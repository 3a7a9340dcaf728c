"""Every API route that starts or continues a run takes an Idempotency-Key: found by what its view calls."""

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from ninja.operation import Operation, PathView

from config.api import api
from workflows.idempotent_requests import accepts_idempotency_key


_CONVERTER = re.compile(r"\{\w+:")
# The services that start or continue something which must not happen twice.
STARTS = {
    "start_run",
    "start_run_with_options",
    "start_completion",
    "queue_run",
    "run_again",
    "create_task",
    "execute_task",
    "resume_run",
    "answer_wait",
    "answer_with_message",
    "continue_run",
    "run_cases",
    "start_evaluation",
}
# Those of our own API, which describes the header.
OWN_ROUTES = {
    "POST /workflows/{workflow_id}/runs",
    "POST /tasks",
    "POST /tasks/{task_id}/execute",
    "POST /runs/{run_id}/continue",
    "POST /runs/{run_id}/resume",
    "POST /runs/{run_id}/waits/{wait_id}",
    "POST /workflows/{workflow_id}/tests/run",
    "POST /data-sets/{data_set_id}/evaluations",
}
ROUTES = {
    *OWN_ROUTES,
    "POST /chat/completions",
    "POST /chat-messages",
    "POST /completion-messages",
    "POST /workflows/run",
    "POST /workflows/{workflow_id}/run",
    "POST /form/human_input/{form_token}",
}


def list_operations() -> Iterator[tuple[str, Operation]]:
    """Yield the operations of the API as the site serves them."""
    for pattern in _walk(get_resolver().url_patterns):
        for cell in getattr(pattern.callback, "__closure__", None) or ():
            if isinstance(cell.cell_contents, PathView):
                for operation in cell.cell_contents.operations:
                    path = _CONVERTER.sub("{", operation.path)
                    yield f"{operation.methods[0]} {path}", operation


def _walk(patterns: list[Any]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns)
        else:
            yield pattern


def starts_something(operation: Operation) -> bool:
    """Return whether the view calls one of these services, itself or through a function of its module."""
    view = inspect.unwrap(operation.view_func)
    module = inspect.getmodule(view)
    assert module is not None
    tree = ast.parse(inspect.getsource(module))
    functions = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    seen, pending = set(), [view.__name__]
    while pending:
        name = pending.pop()
        seen.add(name)
        names = {
            node.attr if isinstance(node, ast.Attribute) else node.id
            for node in ast.walk(functions[name])
            if isinstance(node, ast.Attribute | ast.Name)
        }
        if names & STARTS:
            return True
        pending += [other for other in names & functions.keys() if other not in seen]
    return False


def test_start_route_without_an_idempotency_key_fails_the_build() -> None:
    missing = [
        name
        for name, operation in list_operations()
        if starts_something(operation) and not accepts_idempotency_key(operation)
    ]

    assert missing == []


def test_routes_with_an_idempotency_key_are_the_known_ones() -> None:
    assert {name for name, each in list_operations() if accepts_idempotency_key(each)} == ROUTES


def test_header_is_part_of_the_description_of_the_api() -> None:
    schema = api.get_openapi_schema()
    described = {
        f"{method.upper()} {path}"
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        for parameter in operation.get("parameters", ())
        if (parameter["in"], parameter["name"]) == ("header", "Idempotency-Key")
    }

    assert len(described) == len(OWN_ROUTES)
