"""A workflow with errors starts no run, and each way to start one names the node and the field."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_workflow, within
from tests.support.cast import KeyClient, Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.engine.errors import DocumentInvalid
from workflows.models import EvaluationResult, Run, Workflow
from workflows.services.debugging.cases import save_case
from workflows.services.runs.runs import start_run


pytestmark = pytest.mark.django_db

PROBLEM = "Remember: Variable: choose a variable"
SPEC = {
    "name": "A case",
    "turns": [{"inputs": {"text": "x"}, "checks": [{"of": "status", "operator": "not empty"}]}],
}


def build_source() -> dict[str, Any]:
    source = document()
    data = {"type": "memory-store", "title": "Remember", "scope": "user", "key": "k"}
    source["nodes"].append({"id": "memory_store_etnx", "data": data})
    source["edges"].append({"id": "e2", "source": "start", "target": "memory_store_etnx"})
    return source


@pytest.fixture
def broken(alice: Person) -> Workflow:
    return make_workflow(alice, "Broken", build_source())


def count_runs(person: Person) -> int:
    with within(person):
        return Run.objects.visible_to(person.principal).count()


def test_run_is_refused_with_the_titles_of_the_nodes(alice: Person, broken: Workflow):
    with pytest.raises(DocumentInvalid) as refused:
        start_run(alice.principal, workflow=broken, inputs={"text": "x"})

    assert str(refused.value) == PROBLEM
    assert count_runs(alice) == 0


def test_api_names_node_title_and_field(
    alice: Person, broken: Workflow, api_key: Callable[..., KeyClient]
):
    answer = api_key(alice).post(
        f"/api/v1/workflows/{broken.pk}/runs",
        {"inputs": {"text": "x"}, "version": "draft"},
        content_type="application/json",
    )

    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["message"]) == (
        422,
        "DocumentInvalid",
        PROBLEM,
    )
    [problem] = error["problems"]
    assert (problem["node"], problem["title"], problem["field"]) == (
        "memory_store_etnx",
        "Remember",
        "value_selector",
    )


def test_form_gets_a_list_that_leads_to_the_field(alice: Person, broken: Workflow):
    url = reverse("workflows:start", args=[broken.pk])

    answer = alice.client.post(url, {"text": "x"}, headers=HTMX)

    html = text_of(answer)
    assert (answer.status_code, answer["HX-Retarget"]) == (422, "#run-refused")
    assert 'data-jump="memory_store_etnx"' in html
    assert 'data-field="value_selector"' in html
    assert "<b>Remember</b>" in html
    page = alice.client.post(url, {"text": "x"})
    assert page.status_code == 422
    assert PROBLEM in text_of(page)
    assert count_runs(alice) == 0


def test_node_that_has_the_error_is_not_run_alone_and_others_are(alice: Person, broken: Workflow):
    url = reverse("workflows:try", args=[broken.pk])

    alone = alice.client.post(url, {"debug": '{"only": ["memory_store_etnx"]}'})
    other = alice.client.post(
        url, {"debug": '{"only": ["end"], "values": {"start": {"text": "x"}}}'}
    )

    assert alone.status_code == 422
    assert 'data-jump="memory_store_etnx"' in alone.json()["error"]["html"]
    assert other.status_code == 201


def test_cases_are_not_run(alice: Person, broken: Workflow):
    save_case(alice.principal, workflow=broken, spec=SPEC)

    answer = alice.client.post(reverse("workflows:run_tests", args=[broken.pk]), headers=HTMX)

    assert answer.status_code == 422
    assert 'data-jump="memory_store_etnx"' in text_of(answer)
    with within(alice):
        assert EvaluationResult.objects.visible_to(alice.principal).count() == 0


@pytest.fixture
def half_made(alice: Person) -> Workflow:
    """Its End refers to a node that doesn't exist; an unconnected HTTP node has no URL yet."""
    source = document()
    end = next(node for node in source["nodes"] if node["id"] == "end")
    end["data"]["outputs"] = [{"variable": "text", "value_selector": ["gone", "text"]}]
    data = {"type": "http-request", "title": "Later", "url": ""}
    source["nodes"].append({"id": "later", "data": data})
    return make_workflow(alice, "Half-made", source)


def test_half_made_draft_is_not_tried_in_the_editor_but_programs_may_run_it(
    alice: Person, half_made: Workflow
):
    url = reverse("workflows:start", args=[half_made.pk])

    answer = alice.client.post(url, {"text": "x"}, headers=HTMX)
    started = start_run(alice.principal, workflow=half_made, inputs={"text": "x"})

    html = text_of(answer)
    assert (answer.status_code, answer["HX-Retarget"]) == (422, "#run-refused")
    assert 'data-jump="end"' in html
    # What no path leads to doesn't matter yet.
    assert 'data-jump="later"' not in html
    assert started.status == "queued"
