"""The description of the API: one shape a name, words for every operation, examples that are taken."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from ninja import Schema

from config.api import api


DESCRIPTION: dict[str, Any] = api.get_openapi_schema()
OURS = re.compile(r"/api/v1/(memory|knowledge|audit|teams|groups|members|keys|invitations|me)\b")


def shapes(of: type[Schema] = Schema) -> Iterator[type[Schema]]:
    for shape in of.__subclasses__():
        yield shape
        yield from shapes(shape)


def operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{verb.upper()} {path}", found)
        for path, verbs in DESCRIPTION["paths"].items()
        for verb, found in verbs.items()
        if OURS.match(path)
    ]


def bodies() -> list[tuple[str, str]]:
    found = []
    for name, operation in operations():
        content = operation.get("requestBody", {}).get("content", {})
        reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
        if reference:
            found.append((name, reference.rpartition("/")[2]))
    return found


def test_name_in_the_description_stands_for_one_shape() -> None:
    """Components are kept by name alone: of two that share one, the later would describe both."""
    known = defaultdict(set)
    for shape in shapes():
        known[shape.__name__].add(f"{shape.__module__}.{shape.__qualname__}")

    twice = {
        name: sorted(known[name])
        for name in DESCRIPTION["components"]["schemas"]
        if len(known[name]) > 1
    }

    assert twice == {}


def test_every_operation_says_what_it_does() -> None:
    assert [name for name, found in operations() if not found.get("description")] == []


@pytest.mark.parametrize(("operation", "name"), bodies(), ids=lambda one: one)
def test_body_has_an_example_that_is_taken(operation: str, name: str) -> None:
    described = DESCRIPTION["components"]["schemas"][name]
    # A shape with fields of another record is a subclass of the written one, with its name.
    (shape,) = (
        shape
        for shape in shapes()
        if shape.__name__ == name
        and name not in {derived.__name__ for derived in shape.__subclasses__()}
    )

    shape.model_validate(described["example"])
