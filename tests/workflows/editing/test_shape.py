"""What the server says a draft consists of, beside what its page draws."""

import json
import re

import pytest

from tests.factories.workflows import make_workflow
from tests.journeys.canvas_document import document as one_of_everything
from tests.support.markup import markup_of
from workflows.samples.catalogue import SAMPLES
from workflows.services.editing.draft_checksum import compute_mark, compute_shape
from workflows.services.samples.samples import copy_sample


pytestmark = pytest.mark.django_db

NODE = re.compile(r"<wf-node\b[^>]*>")
EDGE = re.compile(r'<path\b[^>]*class="wf-edge\b[^>]*>')


def drawn(html: str) -> dict[str, int]:
    """As static/js/editor/collaboration/draft_checksum.js reads it off the page."""

    def of(tag: str, name: str) -> str:
        found = re.search(rf'\bdata-{name}="([^"]*)"', tag)
        assert found, (name, tag)
        return found[1]

    nodes = [f"{of(tag, 'id')} {of(tag, 'parent')}" for tag in NODE.findall(html)]
    edges = [f"{of(t, 'id')} {of(t, 'from')} {of(t, 'to')}" for t in EDGE.findall(html)]
    return {"nodes": len(nodes), "edges": len(edges), "mark": compute_mark([*nodes, *edges])}


def shape(person, workflow) -> dict[str, int]:
    answer = person.client.get(f"/workflows/{workflow.pk}/changes/?after=1")
    found: dict[str, int] = answer.json()["shape"]
    return found


def page_of(person, workflow) -> str:
    html: str = markup_of(person.client.get(f"/workflows/{workflow.pk}/"))
    return html


# Containers and notes are in the document below.
BY_DAY = ("companion", "research", "wiki")
SLUGS = [
    pytest.param(sample.slug, marks=() if sample.slug in BY_DAY else pytest.mark.nightly)
    for sample in SAMPLES
]


@pytest.mark.parametrize("slug", SLUGS)
def test_page_of_a_sample_shows_what_the_draft_consists_of(alice, slug: str):
    workflow = copy_sample(alice.principal, team_id=alice.team.pk, slug=slug)

    said = shape(alice, workflow)

    assert said["nodes"] > 2
    assert {**drawn(page_of(alice, workflow)), "revision": workflow.revision} == said


def test_page_with_containers_and_notes_shows_what_the_draft_consists_of(alice):
    workflow = make_workflow(alice, source=one_of_everything())

    said = shape(alice, workflow)

    assert {**drawn(page_of(alice, workflow)), "revision": workflow.revision} == said


@pytest.mark.parametrize(
    "op",
    [
        {"op": "add", "node": {"id": "a", "kind": "answer", "x": 5, "y": 6}},
        {"op": "delete", "id": "end"},
        {"op": "disconnect", "id": "e1"},
    ],
    ids=lambda op: op["op"],
)
def test_shape_is_another_after_a_node_or_an_edge_came_or_went(alice, op):
    workflow = make_workflow(alice)
    before = compute_shape(alice.principal, workflow)

    alice.client.patch(
        f"/workflows/{workflow.pk}/draft/",
        json.dumps({"base": workflow.revision, "ops": [op]}),
        content_type="application/json",
    )

    after = compute_shape(alice.principal, workflow)
    assert after.revision == before.revision + 1
    assert after.mark != before.mark


def test_shape_reads_the_parts_in_one_statement(alice, django_assert_max_num_queries):
    workflow = make_workflow(alice)
    compute_shape(alice.principal, workflow)

    with django_assert_max_num_queries(20) as seen:
        compute_shape(alice.principal, workflow)

    asked = [query["sql"] for query in seen if "workflows_node" in query["sql"]]
    assert len(asked) == 1
    assert "workflows_edge" in asked[0]
