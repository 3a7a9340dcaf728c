"""What an edge's label says of the data that went along it."""

import pytest
from django.urls import reverse

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cases import for_each
from workflows.models import Step
from workflows.views.editor.debugging.edge_previews import build_preview


@for_each(
    "outputs, name, text",
    [
        ({"text": "Hello,\n  Ana"}, "text", "Hello, Ana"),
        ({"usage": {"tokens": 3}, "text": "Hi"}, "text", "Hi"),
        ({"sum": 41.5}, "sum", "41.5"),
        ({"result": True}, "result", "true"),
        ({"results": ["a", "b"], "count": 2}, "results", "a, b"),
        ({"results": [{"id": "1", "value": "é"}]}, "results", "é"),
        ({"results": [{"size": 3}]}, "results", '[{"size": 3}]'),
        ({"text": "", "items": []}, "", ""),
        ({}, "", ""),
        ({"text": "x" * 50}, "text", "x" * 40 + "…"),
    ],
)
def test_preview_is_the_beginning_of_what_says_most(outputs, name, text):
    assert build_preview(outputs) == {"name": name, "text": text}


@pytest.mark.django_db
def test_previews_are_of_the_nodes_asked_for_and_of_the_last_round(alice):
    run = make_run(alice, make_workflow(alice), inputs={"text": "hi"})
    with tenant([run.team_id]):
        for at, (key, said) in enumerate([("a", "one"), ("a", "two"), ("b", "three")]):
            Step.objects.create(
                team_id=run.team_id, run=run, node_key=key, kind="answer", title=key,
                rounds=[at], status="succeeded", outputs={"answer": said}, started_at=at,
            )  # fmt: skip
    place = reverse("workflows:run_previews", args=[run.pk])

    found = alice.client.get(f"{place}?node=a&node=nowhere").json()["previews"]

    assert found == {"a": {"name": "answer", "text": "two"}}
