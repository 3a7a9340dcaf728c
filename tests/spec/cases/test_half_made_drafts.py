"""Cases 00, 03 and 13: whatever a draft contains, it opens for everybody, and says what it lacks."""

from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import make_workflow
from tests.spec.cases.documents import DAYS, FLAT, HALF_MADE
from tests.support.cast import Cast, Person
from workflows.models import Workflow
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
