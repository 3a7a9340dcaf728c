"""The list of problems, for who may mend them and for who may only look."""

import html
import json
import re
from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_version, make_workflow
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of
from workflows.engine.language.problems import Severity
from workflows.models import Workflow
from workflows.services.catalog import importing
from workflows.services.editor.drafts import validate_draft


pytestmark = pytest.mark.django_db

READ_ONLY = "You have view-only access."
JUMP = re.compile(r'<button type="button" class="ed-problem".*?</button>', re.S)


def broken() -> dict[str, Any]:
    source = document(name="Begin")
    source["nodes"].append({"id": "ask", "data": {"type": "llm", "title": "Ask"}})
    source["edges"].append({"id": "e2", "source": "start", "target": "ask"})
    return source


def listed(person: Person, workflow: Workflow) -> tuple[str, list[str]]:
    """The fragment, and what in it leads to a node; the page begins with the same."""
    parts = []
    for route in ("detail", "problems"):
        answer = person.client.get(reverse(f"workflows:{route}", args=[workflow.pk]))
        assert answer.status_code == 200
        parts.append(markup_of(answer))
    of_page, of_fragment = (JUMP.findall(part) for part in parts)
    assert of_page == of_fragment
    assert 'id="problems-button"' in parts[0]
    return parts[1], of_fragment


def test_viewer_sees_the_list_of_who_edits_and_that_it_is_to_read(cast: Cast) -> None:
    workflow = make_workflow(cast.alice, source=broken())

    editors, of_editor = listed(cast.alice, workflow)
    viewers, of_viewer = listed(cast.vic, workflow)

    assert of_viewer == of_editor
    assert any('data-jump="ask"' in one for one in of_viewer)
    assert (READ_ONLY in viewers, READ_ONLY in editors) == (True, False)


def test_list_with_nothing_in_it_speaks_of_publishing_to_who_publishes_alone(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)

    editors, of_editor = listed(cast.alice, workflow)
    viewers, of_viewer = listed(cast.vic, workflow)

    assert of_editor == of_viewer == []
    assert "No problems. Ready to publish." in editors
    assert "No problems in this workflow." in viewers
    assert "draft" not in viewers


def test_viewer_of_what_is_published_learns_nothing_of_a_broken_draft(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    make_version(cast.alice, workflow)
    importing.replace_from_document(cast.alice.principal, workflow=workflow, source=broken())

    assert listed(cast.alice, workflow)[1] != []
    assert listed(cast.vic, workflow)[1] == []
    assert (
        cast.carol.client.get(reverse("workflows:problems", args=[workflow.pk])).status_code == 404
    )


def test_what_keeps_a_draft_from_running_in_the_editor_is_an_error_there_and_a_warning_to_programs(
    cast: Cast,
) -> None:
    source = document()
    end = next(node for node in source["nodes"] if node["id"] == "end")
    end["data"]["outputs"] = [{"variable": "text", "value_selector": ["gone", "text"]}]
    source["nodes"].append({"id": "later", "data": {"type": "http-request", "url": ""}})
    workflow = make_workflow(cast.alice, source=source)

    _, links = listed(cast.alice, workflow)

    found = {(re.search(r'data-jump="(\w*)"', one)[1], "pill-bad" in one) for one in links}  # type: ignore[index]
    assert found == {("end", True), ("later", False)}
    assert {problem.severity for problem in validate_draft(workflow)} == {Severity.WARNING}


def reading(node_id: str) -> dict[str, Any]:
    """A node Agent, and an end that reads from the node with this id."""
    source = document(name="Begin")
    agent: dict[str, Any] = {
        "id": "agent_dybu",
        "data": {"type": "template-transform", "title": "Agent"},
    }
    agent["data"] |= {"template": "x", "variables": []}
    source["nodes"].append(agent)
    source["edges"].append({"id": "e2", "source": "start", "target": "agent_dybu"})
    source["nodes"][1]["data"]["outputs"] = [
        {"variable": "text", "value_selector": [node_id, "output"]}
    ]
    return source


def delete_agent(person: Person, workflow: Workflow) -> str:
    """Delete the node as the editor does, and return the HTML that comes back."""
    answer = person.client.post(
        reverse("workflows:draft", args=[workflow.pk]),
        json.dumps({"ops": [{"op": "delete", "id": "agent_dybu"}]}),
        content_type="application/json",
    )
    assert answer.status_code == 200
    return answer.content.decode()


def test_deleted_node_that_is_still_read_goes_by_the_title_that_it_had(alice: Person) -> None:
    workflow = make_workflow(alice, source=reading("agent_dybu"))
    delete_agent(alice, workflow)

    for route in ("problems", "detail"):
        page = markup_of(alice.client.get(reverse(f"workflows:{route}", args=[workflow.pk])))
        assert "Reads Agent › output, which was deleted" in page
        assert "there is no node" not in page
    form = markup_of(alice.client.get(reverse("workflows:node", args=[workflow.pk, "end"])))
    (script,) = re.findall(
        r'<script id="insp-data" type="application/json">(.*?)</script>', form, re.S
    )
    messages = [problem["message"] for problem in json.loads(script)["problems"]]
    assert "Reads Agent › output, which was deleted" in messages


def test_node_that_was_never_there_is_not_named_by_its_id(alice: Person) -> None:
    workflow = make_workflow(alice, source=reading("agent_zzzz9"))

    page = markup_of(alice.client.get(reverse("workflows:problems", args=[workflow.pk])))

    assert "Reads output of a node that doesn't exist" in html.unescape(page)
    assert "agent_zzzz9" not in page


def test_menu_that_publishes_lists_the_errors_alone(alice: Person) -> None:
    url = reverse("workflows:problems", args=[make_workflow(alice, source=broken()).pk])
    sound = reverse("workflows:problems", args=[make_workflow(alice, "Sound").pk])

    page = markup_of(alice.client.get(url, {"publishing": ""}))

    assert "Can't publish: fix these problems first." in page
    assert 'data-jump="ask"' in page
    assert markup_of(alice.client.get(sound, {"publishing": ""})).strip() == ""
