"""Cases 00, 03 and 13: whatever a draft contains, it opens for everybody, and says what it lacks."""

import json
from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import make_workflow
from tests.spec.cases.documents import DAYS, FLAT, HALF_MADE, LOOSE_EDGES, UNFINISHED, Tree
from tests.support.cast import Cast, Person
from workflows.engine.language.document import Dialect
from workflows.engine.language.dsl import load_document
from workflows.models import Workflow
from workflows.services.editor import drafts
from workflows.services.editor.drafts import load_draft


pytestmark = pytest.mark.django_db

ROOT = "/api/v1/workflows"
PAGES = ("detail", "problems", "outline", "find", "inspector", "picture", "export")
# What is half-made → the field that its problem names.
FIELDS = {
    "a blank condition": "cases",
    "an unknown operator": "cases",
    "a number in a selector": "cases",
    "a number as a selector": "cases",
    "a blank assignment": "items",
    "assignments under another name": "items",
    "a blank break condition": "break_conditions",
    "outputs as a list": "outputs",
    "a malformed context": "context",
}


def open_pages(person: Person, workflow: Workflow) -> dict[str, int]:
    urls = [reverse(f"workflows:{page}", args=[workflow.pk]) for page in PAGES]
    urls += [
        reverse("workflows:node", args=[workflow.pk, node.id])
        for node in load_draft(workflow).nodes
    ]
    return {url: person.client.get(url, {"q": "a"}).status_code for url in urls}


@pytest.mark.parametrize("name", HALF_MADE)
def test_half_made_draft_opens_for_a_colleague_and_names_the_field(
    name: str, cast: Cast, api_key: Any
) -> None:
    workflow, api = make_workflow(cast.alice, source=HALF_MADE[name]), api_key(cast.alice)

    statuses = open_pages(cast.bob, workflow)
    answers = [
        api.post(f"{ROOT}/{workflow.pk}/validate", data={}, content_type="application/json"),
        api.post(f"{ROOT}/validate", data={"document": HALF_MADE[name]}, content_type="application/json"),
        api.post(f"{ROOT}/{workflow.pk}/publish", data={}, content_type="application/json"),
        api.post(f"{ROOT}/{workflow.pk}/runs", data={"version": "draft", "inputs": {}}, content_type="application/json"),
    ]  # fmt: skip

    assert set(statuses.values()) == {200}, statuses
    assert [answer.status_code for answer in answers[:2]] == [200, 200]
    for report in (answer.json() for answer in answers[:2]):
        fields = [
            problem["field"]
            for problem in report["problems"]
            if problem["node"] == "half" and problem["severity"] == "error"
        ]
        assert report["valid"] is False
        assert any(str(field).startswith(FIELDS[name]) for field in fields), fields
    assert [answer.status_code for answer in answers[2:]] == [422, 422]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("a blank metadata variable", "metadata_selectors.city"),
        ("a blank variable of an agent's tool", "tools.0.settings"),
    ],
)
def test_unfinished_draft_opens_for_a_colleague_with_a_warning_at_the_field(
    name: str, field: str, cast: Cast, api_key: Any
) -> None:
    workflow, api = make_workflow(cast.alice, source=UNFINISHED[name]), api_key(cast.alice)

    statuses = open_pages(cast.bob, workflow)
    report = api.post(
        f"{ROOT}/{workflow.pk}/validate", data={}, content_type="application/json"
    ).json()

    assert set(statuses.values()) == {200}, statuses
    assert report["valid"] is True
    assert field in {each["field"] for each in report["problems"] if each["node"] == "half"}


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", LOOSE_EDGES)
def test_draft_whose_edge_has_lost_an_end_opens_and_names_the_edge(
    name: str, dialect: Dialect, cast: Cast, api_key: Any
) -> None:
    document, message = LOOSE_EDGES[name]
    source = document if dialect is Dialect.DIFY else _flatten(document)
    workflow, api = make_workflow(cast.alice, source=source), api_key(cast.alice)

    statuses = open_pages(cast.bob, workflow)
    panel = cast.alice.client.get(
        reverse("workflows:inspector", args=[workflow.pk]), {"edge": "loose"}
    )
    picture = cast.bob.client.get(reverse("workflows:picture", args=[workflow.pk]))
    listed = cast.alice.client.get(reverse("workflows:problems", args=[workflow.pk]))
    answers = [
        api.post(f"{ROOT}/{workflow.pk}/validate", data={}, content_type="application/json"),
        api.post(f"{ROOT}/validate", data={"document": source}, content_type="application/json"),
        api.post(f"{ROOT}/{workflow.pk}/publish", data={}, content_type="application/json"),
        api.post(f"{ROOT}/{workflow.pk}/runs", data={"version": "draft", "inputs": {}}, content_type="application/json"),
    ]  # fmt: skip

    assert set(statuses.values()) == {200}, statuses
    assert panel.status_code == 200
    assert "Delete edge" in panel.content.decode()
    assert "Insert node" not in panel.content.decode()
    assert b'data-edge="loose"' not in picture.content
    assert [answer.status_code for answer in answers] == [200, 200, 422, 422]
    for answer in answers:
        report = answer.json()
        problems = [
            (problem["code"], problem["edge"], problem["message"])
            for problem in report.get("error", report)["problems"]
            if problem.get("severity", "error") == "error"
        ]
        assert problems == [("edge.ends", "loose", message)]
    assert 'data-jump="loose"' in listed.content.decode()


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", LOOSE_EDGES)
def test_edge_that_has_lost_an_end_is_exported_as_it_was(
    name: str, dialect: Dialect, alice: Person
) -> None:
    document, _message = LOOSE_EDGES[name]
    workflow = make_workflow(alice, source=document)

    exported = drafts.export(alice.principal, workflow=workflow, dialect=dialect, format="json")

    tree = json.loads(exported)
    edges = tree["edges"] if "edges" in tree else tree["workflow"]["graph"]["edges"]
    [loose] = [edge for edge in edges if edge["id"] == "loose"]
    ends = {key: loose[key] for key in ("source", "target") if key in loose}
    assert ends == {key: value for key, value in _get_loose(document).items() if key != "id"}
    assert load_document(tree).document.edges[-1] == load_draft(workflow).edges[-1]


def _get_loose(document: Tree) -> Tree:
    edge: Tree = document["workflow"]["graph"]["edges"][-1]
    return edge


def _flatten(document: Tree) -> Tree:
    graph = document["workflow"]["graph"]
    return {"version": "0.1.0", "nodes": graph["nodes"], "edges": graph["edges"]}


def test_panel_behind_a_broken_node_opens_with_its_own_problems(alice: Person) -> None:
    workflow = make_workflow(alice, source=DAYS)

    statuses = open_pages(alice, workflow)
    panels = {
        node: alice.client.get(reverse("workflows:node", args=[workflow.pk, node])).content.decode()
        for node in ("days", "text")
    }

    assert set(statuses.values()) == {200}
    assert "Output variables must be an object" in panels["days"]
    assert "Output variables must be an object" not in panels["text"]


def test_document_with_its_graph_in_another_place_is_imported_whole_with_a_note(
    alice: Person, api_key: Any
) -> None:
    api = api_key(alice)

    answer = api.post(ROOT, data={"document": FLAT}, content_type="application/json")

    made, notes = answer.json()["workflow"], answer.json()["warnings"]
    document = api.get(f"{ROOT}/{made['id']}").json()["document"]
    assert answer.status_code == 201
    assert [node["id"] for node in document["workflow"]["graph"]["nodes"]] == ["start", "end"]
    assert [note["message"] for note in notes] == [
        "The nodes were read from workflow, instead of workflow.graph where they belong"
    ]
