"""A query parameter the API doesn't know is a mistake: refused by name, wherever it is asked."""

import re
from typing import Any

import pytest

from config.api import api
from tests.support.cases import for_each
from tests.support.cast import Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

ID = "01a20547-01b2-7000-b399-b1a2f02aa725"
DESCRIBED: dict[str, Any] = api.get_openapi_schema()["paths"]
NEEDED = {"namespace": "global:app", "key": "k", "query": "x", "q": "x"}


def address(path: str, parameters: list[dict[str, Any]]) -> str:
    """With an id in every place, and what it can't be asked without."""
    for one in parameters:
        if one["in"] == "path":
            given = ID if one["name"].endswith("id") else one["schema"].get("enum", ["1"])[0]
            path = re.sub(rf"\{{(\w+:)?{one['name']}\}}", given, path)
    needed = [one["name"] for one in parameters if one["in"] == "query" and one.get("required")]
    asked = "&".join(f"{name}={NEEDED.get(name, 1)}" for name in needed)
    return f"{path}?{asked}&" if asked else f"{path}?"


ROUTES = {
    path: address(path, verbs["get"].get("parameters", []))
    for path, verbs in DESCRIBED.items()
    if "get" in verbs
}


@for_each("path", ROUTES)
def test_unknown_query_parameter_is_refused_by_its_name(path: str, alice: Person) -> None:
    answer = alice.client.get(f"{ROUTES[path]}offsett=3")

    assert answer.status_code == 422
    assert "offsett" in markup_of(answer)


def test_who_is_not_known_is_told_that_first(client: Any) -> None:
    assert client.get("/api/v1/runs?user=ana&offsett=3").status_code == 401


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/tasks", "/api/v1/workflows"])
def test_what_is_known_is_taken(path: str, alice: Person) -> None:
    assert alice.client.get(f"{path}?limit=2&cursor=").status_code == 200
