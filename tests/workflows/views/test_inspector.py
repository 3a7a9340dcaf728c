"""The inspector's forms, as the server draws them from the kinds' descriptions."""

import json
import re
from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import make_workflow
from workflows.services.kinds import installed_kinds


def document(kind: str, **data: Any) -> dict[str, Any]:
    variables = [{"variable": "text", "type": "string"}, {"variable": "tags", "type": "array[string]"}]
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Begin", "variables": variables}},
            {"id": "n1", "data": {"type": kind, "title": "It", **data}},
        ],
        "edges": [{"id": "e1", "source": "start", "target": "n1"}],
        "environment_variables": [{"name": "KEY", "value_type": "secret", "value": "s3cr3t"}],
        "conversation_variables": [{"name": "seen", "type": "string", "default": "no"}],
    }


def fragment(person: Any, workflow: Any, node: str = "n1") -> str:
    answer = person.client.get(reverse("workflows:node", args=[workflow.pk, node]))
    assert answer.status_code == 200
    return answer.content.decode()


def held(html: str) -> dict[str, Any]:
    found = re.search(r'<script id="insp-held" type="application/json">(.*?)</script>', html, re.S)
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize("kind", sorted(installed_kinds()))
def test_node_of_every_kind_has_a_control_for_every_field(alice, kind):
    workflow = make_workflow(alice, kind, document(kind))

    html = fragment(alice, workflow)

    for field in installed_kinds()[kind].fields:
        assert f'data-field="{field.name}"' in html
        for part in field.fields:
            assert f'data-key="{part.name}"' in html
