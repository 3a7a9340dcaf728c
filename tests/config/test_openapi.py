"""The description of the API: one shape a name, words for every operation, examples that are taken."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from ninja import Schema

from accounts.roles import SCOPES, SERVICE_SCOPES
from config.api import api


OPERATION_ID = re.compile(r"[a-z]+(_[a-z]+)+")
LIST_FIELDS = {"items", "next", "count"}


def describe() -> dict[str, Any]:
    """Return the description. Not while this module is imported: that takes a second, and each worker imports it."""
    return api.get_openapi_schema()


def shapes(of: type[Schema] = Schema) -> Iterator[type[Schema]]:
    for shape in of.__subclasses__():
        yield shape
        yield from shapes(shape)


def operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{verb.upper()} {path}", found)
        for path, verbs in describe()["paths"].items()
        for verb, found in verbs.items()
    ]


def schema_of(response: dict[str, Any]) -> dict[str, Any]:
    """The schema of a JSON answer; empty for any other."""
    schema = response.get("content", {}).get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = describe()["components"]["schemas"].get(name, schema)
    return found


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
        for name in describe()["components"]["schemas"]
        if len(known[name]) > 1
    }

    assert twice == {}


def test_description_is_built_once() -> None:
    """Anybody may ask for it, and to build it takes a second."""
    assert api.get_openapi_schema(path_params={}) is describe()


def test_every_operation_says_what_it_does() -> None:
    assert [name for name, found in operations() if not found.get("description")] == []


def test_operations_have_short_names_of_their_own_and_summaries_in_words() -> None:
    ids = [found["operationId"] for _name, found in operations()]

    assert sorted(set(ids)) == sorted(ids)
    assert [name for name in ids if not OPERATION_ID.fullmatch(name)] == []
    summaries = [found["summary"] for _name, found in operations()]
    assert [text for text in summaries if " " not in text or text.istitle()] == []


def test_every_operation_names_its_permission_its_errors_and_an_example() -> None:
    for name, found in operations():
        scopes = found["x-scopes"]
        errors = {int(status): answer for status, answer in found["responses"].items()}
        known = SCOPES.keys() | SERVICE_SCOPES.keys()

        assert scopes is None or set(scopes) <= known, name
        assert all(f"`{scope}`" in found["description"] for scope in scopes or ()), name
        assert {401, 403, 429, 503} <= errors.keys(), name
        assert "{" not in name or 404 in errors, name
        assert "requestBody" not in found or {400, 413, 415, 422} <= errors.keys(), name
        (sample,) = found["x-codeSamples"]
        assert sample["source"].startswith("curl"), name


def test_errors_have_one_shape_but_those_of_conflicts_and_imports() -> None:
    others = {
        (name, status)
        for name, found in operations()
        for status, answer in found["responses"].items()
        if int(status) >= 400 and schema_of(answer).get("title") != "ApiErrorOut"
    }

    assert {(name.rpartition("/")[2], status) for name, status in others} == {
        ("draft", 409),
        ("undo", 409),
        ("redo", 409),
        ("import", 422),
    }


def test_error_that_a_description_names_is_among_the_answers() -> None:
    (start,) = (found for _name, found in operations() if found["operationId"] == "start_run")

    assert "NotPublished" in start["responses"][409]["description"]
    assert "InputRejected" in start["responses"][422]["description"]


def test_every_list_has_the_same_envelope_and_parameters() -> None:
    lists = []
    for name, found in operations():
        if name.startswith("GET"):
            schema = schema_of(found["responses"].get(200, {}))
            assert schema.get("type") != "array", name
            if schema.get("properties", {}).keys() >= LIST_FIELDS:
                lists.append(name)
                asked = {parameter["name"] for parameter in found["parameters"]}
                assert {"limit", "cursor"} <= asked, name
                assert "offset" not in asked, name
        elif found["operationId"].startswith("list_"):
            pytest.fail(f"{name} lists without GET")

    assert {name for name, found in operations() if found["operationId"].startswith("list_")} - {
        *lists,
        "GET /api/v1/workflows/{workflow_id}/changes",
        "GET /api/v1/knowledge/pages/{entry_id}/links",
    } == set()
    assert len(lists) > 40


def test_bodies_have_examples_that_are_taken() -> None:
    by_name = group_shapes_by_name()
    assert len(bodies()) > 50
    for operation, name in bodies():
        (shape,) = by_name[name]
        try:
            shape.model_validate(describe()["components"]["schemas"][name]["example"])
        except ValueError as error:
            raise AssertionError(f"{operation}: {name}: {error}") from error


def group_shapes_by_name() -> dict[str, set[type[Schema]]]:
    """Return all shapes, without those of which a subclass with the same name has fields of another record."""
    by_name: dict[str, set[type[Schema]]] = defaultdict(set)
    for shape in shapes():
        if shape.__name__ not in {derived.__name__ for derived in shape.__subclasses__()}:
            by_name[shape.__name__].add(shape)
    return by_name
