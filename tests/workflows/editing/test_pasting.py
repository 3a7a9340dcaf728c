"""Pasting over the page's door."""

import json

import pytest

from tests.factories.workflows import make_workflow
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

WITH_START = """
nodes:
  - {id: s, type: custom, position: {x: 0, y: 0}, data: {type: start, title: Start, variables: []}}
  - {id: t, type: custom, position: {x: 300, y: 0}, data: {type: template-transform, template: "{{ x }}",
     variables: [{variable: x, value_selector: [s, nowhere]}]}}
edges: [{id: e, source: s, target: t}]
"""


def test_answer_says_that_a_start_was_left_out_and_what_it_lacks_is_a_problem(alice):
    workflow = make_workflow(alice)
    client = alice.client

    def paste(text: str):
        body = {"base": workflow.revision, "ops": [{"op": "paste", "text": text}]}
        answer = client.patch(
            f"/workflows/{workflow.pk}/draft/", json.dumps(body), content_type="application/json"
        )
        assert answer.status_code == 200, answer.content
        workflow.revision = answer.json()["revision"]
        return answer.json()

    told = paste(WITH_START)
    plain = paste(WITH_START[WITH_START.index("  - {id: t") : WITH_START.index("edges:")])

    [node] = [op["node"]["id"] for op in told["ops"] if op["op"] == "add"]
    assert (told["left_start"], plain["left_start"]) == (True, False)
    # The start of the workflow leads somewhere already, so the copy is not joined to it.
    assert [op for op in told["ops"] if op["op"] == "connect"] == []
    problems = markup_of(client.get(f"/workflows/{workflow.pk}/problems/"))
    assert f'data-jump="{node}" data-field="variables' in problems
    assert "nowhere" in problems
