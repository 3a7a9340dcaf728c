"""The access matrix's words: a row a route and method, and how routes are found and asked.

`expect` names six outcomes in this order: anonymous, outsider (another team's owner), viewer, editor, admin, the
other team's API key. `-` is "not let in": 401, a redirect to sign-in, or the CSRF wall. A number is that very status.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from ninja.operation import PathView

from tests.support.cast import Person


PRINCIPALS = ("anonymous", "outsider", "viewer", "editor", "admin", "other team's key")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")

# Makes an object in the person's team (the person owns it) with the canary in whatever people can read of it,
# and returns what stands for it in a path or body.
Maker = Callable[[Person, str], Any]


@dataclass(frozen=True)
class Row:
    """One route, one method. `ids`: path parameter or body field → name of a maker."""

    method: str
    route: str
    expect: str
    ids: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    # An admin who names another team's object gets this; by id where they differ
    foreign: int | Mapping[str, int] = 404

    @property
    def name(self) -> str:
        return f"{self.method} {self.route}"

    @property
    def outcomes(self) -> dict[str, str]:
        words = self.expect.split()
        if len(words) != len(PRINCIPALS):
            raise ValueError(f"{self.name}: six outcomes, please")
        return dict(zip(PRINCIPALS, words, strict=True))

    def foreign_as(self, name: str) -> int:
        return self.foreign if isinstance(self.foreign, int) else self.foreign[name]

    @property
    def is_api(self) -> bool:
        return self.route.startswith(("api/", "hooks/", "mcp/", "openai/", "v1/"))


@dataclass(frozen=True)
class Route:
    """A route as Django resolves it; `methods` is None where only the view itself knows."""

    path: str
    methods: frozenset[str] | None


def routes() -> list[Route]:
    """Every route of the site, once. Ninja's views know their methods; others are asked with each."""
    return sorted(set(_walk(get_resolver().url_patterns, "")), key=lambda route: route.path)


def _walk(patterns: list[Any], prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            # Ninja has a uuid converter of its own that leaves text; to us it is the same route.
            yield Route(path.replace("<uuidstr:", "<uuid:"), _methods(pattern.callback))


def _methods(view: Any) -> frozenset[str] | None:
    """Of a ninja view: its closure holds the path's operations."""
    for cell in getattr(view, "__closure__", None) or ():
        if isinstance(cell.cell_contents, PathView):
            return frozenset(m for op in cell.cell_contents.operations for m in op.methods)
    return None


def ask(client: Client, row: Row, values: Mapping[str, Any]) -> HttpResponse:
    """Send the row's request with these objects in path and body."""
    path = "/" + PARAMETER.sub(lambda found: str(values[found[1]]), row.route)
    in_path = set(PARAMETER.findall(row.route))
    body = None
    if row.body is not None:
        named = {name: str(value) for name, value in values.items() if name not in in_path}
        body = {**row.body, **named}
    options: dict[str, Any] = {}
    if row.is_api:
        options = {"data": body, "content_type": "application/json"} if body is not None else {}
    elif body is not None:
        options = {"data": body}
    answer: HttpResponse = getattr(client, row.method.lower())(path, **options)
    return answer


def fits(outcome: str, answer: HttpResponse) -> bool:
    if outcome == "-":
        to_sign_in = answer.status_code == 302 and "/accounts/login/" in answer["Location"]
        return to_sign_in or answer.status_code == 401 or _is_csrf_wall(answer)
    return answer.status_code == int(outcome)


def has(answer: Any, canary: str) -> bool:
    return not answer.streaming and canary.lower().encode() in answer.content.lower()


@contextmanager
def undone() -> Iterator[None]:
    """Take back what the block writes, so that the next request finds what this one did."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _is_csrf_wall(answer: HttpResponse) -> bool:
    return answer.status_code == 403 and b"CSRF" in answer.content
