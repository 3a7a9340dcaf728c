"""The group a form asks for, where a workflow has a memory of its own for each."""

from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_workflow, within
from tests.support.cast import Person
from tests.workflows.views.conftest import HTMX, text_of
from workflows.models import Run, Workflow


FIELD = 'name="sys.group_id"'


def remembering(scope: str, *, chat: bool = False) -> dict[str, Any]:
    """start → memory-store → end, or an answer."""
    source = document()
    store = {
        "type": "memory-store",
        "title": "Keep",
        "scope": scope,
        "key": "said",
        "value_selector": ["sys", "query"] if chat else ["start", "text"],
    }
    source["nodes"].insert(1, {"id": "keep", "data": store})
    if chat:
        source["nodes"][0]["data"]["variables"] = []
        source["nodes"][2] = {"id": "end", "data": {"type": "answer", "title": "A", "answer": "k"}}
    source["edges"] = [
        {"id": "e1", "source": "start", "target": "keep"},
        {"id": "e2", "source": "keep", "target": "end"},
    ]
    return source


def page_of(who: Person, workflow: Workflow, /, **query: str) -> str:
    return text_of(who.client.get(reverse("workflows:detail", args=[workflow.pk]), query))


def the_run(who: Person) -> Run:
    with within(who):
        return Run.objects.visible_to(who.principal).get()


@pytest.mark.parametrize(("scope", "asks"), [("workflow", 1), ("user", 0)])
def test_run_form_asks_for_a_group_where_the_workflow_remembers_by_it(
    alice: Person, scope: str, asks: int
):
    workflow = make_workflow(alice, source=remembering(scope))

    assert page_of(alice, workflow).count(FIELD) == asks


def test_run_started_by_form_is_for_the_group_that_was_typed(alice: Person):
    workflow = make_workflow(alice, source=remembering("workflow"))

    answer = alice.client.post(
        reverse("workflows:start", args=[workflow.pk]),
        {"text": "hi", "sys.group_id": "course-7"},
        headers=HTMX,
    )

    assert the_run(alice).system["group_id"] == "course-7"
    assert 'value="course-7"' in text_of(answer)


def test_group_that_could_be_none_is_named_at_its_field(alice: Person):
    workflow = make_workflow(alice, source=remembering("workflow"))

    answer = alice.client.post(
        reverse("workflows:start", args=[workflow.pk]),
        {"text": "hi", "sys.group_id": "a" * 81},
        headers=HTMX,
    )

    html = text_of(answer)
    assert answer.status_code == 422
    assert 'id="run-group-error"' in html
    assert f'value="{"a" * 81}"' in html
    with within(alice):
        assert not Run.objects.visible_to(alice.principal).exists()


def test_part_tried_out_in_the_editor_is_for_the_group_too(alice: Person):
    workflow = make_workflow(alice, source=remembering("workflow"))

    answer = alice.client.post(
        reverse("workflows:try", args=[workflow.pk]), {"text": "x", "sys.group_id": "g"}
    )

    assert answer.status_code == 201
    assert the_run(alice).system["group_id"] == "g"


def test_chat_stays_in_its_group(alice: Person):
    workflow = make_workflow(alice, source=remembering("workflow", chat=True))
    assert workflow.is_chat
    assert page_of(alice, workflow).count(FIELD) == 1

    answer = alice.client.post(
        reverse("workflows:say", args=[workflow.pk]), {"query": "hello", "sys.group_id": "g1"}
    )

    assert the_run(alice).system["group_id"] == "g1"
    assert "sys.group_id=g1" in answer["Location"]
    assert 'value="g1"' in text_of(alice.client.get(answer["Location"]))
