"""All nodes of a missing type are replaced in the import report, as one edit."""

from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.views.catalog.test_import_report import build_source
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import Workflow
from workflows.services.editing.undo import undo
from workflows.services.editor.drafts import load_draft


pytestmark = pytest.mark.django_db

FETCH = {"type": "acme-fetch", "title": "Fetch", "url": "https://example.test", "depth": 3}


def make_crawler(person: Person) -> Workflow:
    """Create a workflow with two nodes of a missing type, of which the second one reads the first."""
    second = {**FETCH, "url": "{{#a.body#}}"}
    source = build_source(a=FETCH, b=second, other={"type": "acme-other", "title": "Other"})
    source["edges"] += [{"id": "a-b", "source": "a", "sourceHandle": "done", "target": "b"}]
    return make_workflow(person, source=source)


def replace_all(person: Person, workflow: Workflow, kind: str, choice: str) -> Any:
    url = reverse("workflows:use_kind", args=[workflow.pk])
    return person.client.post(url, {"kind": kind, "choice": choice}, headers=HTMX)


def test_every_node_of_the_type_is_replaced_and_undone(alice: Person) -> None:
    workflow = make_crawler(alice)
    before = load_draft(workflow)
    page = text_of(alice.client.get(reverse("workflows:import_report", args=[workflow.pk])))
    assert "Node type for acme-fetch" in page

    answer = text_of(replace_all(alice, workflow, "acme-fetch", "http-request"))

    assert "Replace acme-fetch by HTTP request" in answer
    after = load_draft(workflow)
    nodes = {node.id: node for node in after.nodes}
    assert {id_: node.kind for id_, node in nodes.items() if id_ in ("a", "b", "other")} == {
        "a": "http-request",
        "b": "http-request",
        "other": "acme-other",
    }
    assert (nodes["a"].title, nodes["a"].data["url"]) == ("Fetch", "https://example.test")
    assert nodes["b"].data["url"] == "{{#a.body#}}"
    edges = {edge.id: edge for edge in after.edges}
    assert edges.keys() == {edge.id for edge in before.edges}
    assert edges["a-b"].handle == "source"
    undo(alice.principal, workflow=workflow, client="", idempotency_key=None)
    assert load_draft(workflow) == before


@pytest.mark.parametrize(
    ("kind", "choice"),
    [("acme-fetch", "no-such-type"), ("acme-fetch", "start"), ("start", "http-request")],
)
def test_type_that_does_not_fit_is_refused(alice: Person, kind: str, choice: str) -> None:
    workflow = make_crawler(alice)
    before = load_draft(workflow)

    assert replace_all(alice, workflow, kind, choice).status_code == 404
    assert load_draft(workflow) == before


def test_viewer_replaces_nothing(cast: Cast) -> None:
    workflow = make_crawler(cast.alice)

    assert replace_all(cast.vic, workflow, "acme-fetch", "http-request").status_code == 403
