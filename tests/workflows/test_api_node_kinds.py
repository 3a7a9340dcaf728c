"""The list of node kinds: everything that documents may use, each with a schema that real nodes fit."""

from typing import Any

import pytest

from tests.support.cast import Cast, KeyClient
from workflows.engine.language.dsl import load_document
from workflows.engine.language.json_schema import find_schema_error
from workflows.execution.kinds import load_kinds
from workflows.services.samples.samples import list_offered


pytestmark = pytest.mark.django_db

ROOT = "/api/v1/node-kinds"


@pytest.fixture
def kinds(cast: Cast, api_key: Any) -> dict[str, dict[str, Any]]:
    client: KeyClient = api_key(cast.alice, scopes={"runs:read"})
    items = client.get(ROOT, {"limit": 200}).json()["items"]
    return {kind["name"]: kind for kind in items}


def test_every_kind_is_listed_with_a_valid_schema(kinds: dict[str, dict[str, Any]]) -> None:
    assert list(kinds) == sorted(load_kinds())
    for kind in kinds.values():
        assert kind["config_schema"]["properties"]["type"] == {"const": kind["name"]}
    outputs = {output["name"] for output in kinds["http-request"]["outputs"]}
    assert outputs == {"status_code", "body", "headers", "files"}


def test_nodes_of_the_samples_fit_the_schemas(kinds: dict[str, dict[str, Any]]) -> None:
    checked = 0
    for sample in list_offered():
        for node in load_document(sample.source).document.nodes:
            if node.kind in kinds:
                data = {"type": node.kind, "title": node.title, **node.data}
                error = find_schema_error(data, kinds[node.kind]["config_schema"])
                assert error is None, (sample.slug, node.id)
                checked += 1
    assert checked > 20


def test_kind_is_found_by_an_older_name_and_an_unknown_one_is_404(
    cast: Cast, api_key: Any, kinds: dict[str, dict[str, Any]]
) -> None:
    client = api_key(cast.alice)
    old = next(kind for kind in kinds.values() if kind["aliases"])

    assert client.get(f"{ROOT}/{old['aliases'][0]}").json() == old
    assert client.get(f"{ROOT}/no-such-kind").status_code == 404
