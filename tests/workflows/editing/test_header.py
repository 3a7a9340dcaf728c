"""The workflow's name and description are edited like anything else in it: logged, undone, told to others."""

import json

import pytest

from tests.factories.workflows import make_workflow
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


def send(person, workflow, method, place, body):
    ask = getattr(person.client, method)
    path = f"/workflows/{workflow.pk}/{place}/"
    return ask(path, json.dumps(body), content_type="application/json")


def patch(person, workflow, field, value):
    op = {"op": "header", "field": field, "value": value}
    return send(person, workflow, "patch", "draft", {"base": 1, "ops": [op]})


@pytest.mark.parametrize(("field", "value"), [("name", "Desk"), ("description", "Two\nlines")])
def test_header_is_an_edit_and_undone_like_one(alice, field, value):
    workflow = make_workflow(alice)
    before = getattr(workflow, field)

    change = patch(alice, workflow, field, value).json()
    undone = send(alice, workflow, "post", "undo", {}).json()

    assert change["ops"] == [{"op": "header", "field": field, "value": value}]
    assert undone["ops"] == [{"op": "header", "field": field, "value": before}]


def test_name_is_kept_on_one_line(alice):
    assert patch(alice, make_workflow(alice), "name", "  Help\n desk ").json()["ops"] == [
        {"op": "header", "field": "name", "value": "Help desk"}
    ]


@pytest.mark.parametrize(
    ("field", "value"), [("name", "  "), ("name", "x" * 256), ("mode", "workflow"), ("extra", "")]
)
def test_header_that_cannot_be_is_refused(alice, field, value):
    workflow = make_workflow(alice)

    answer = patch(alice, workflow, field, value)

    assert answer.status_code == 422
    assert alice.client.get(f"/workflows/{workflow.pk}/changes/?after=0").json()["revision"] == 1


def test_same_name_is_no_edit(alice):
    workflow = make_workflow(alice)

    assert patch(alice, workflow, "name", workflow.name).json()["revision"] == 1


def test_two_names_by_two_people_conflict(alice, bob):
    workflow = make_workflow(alice)
    patch(alice, workflow, "name", "Hers")

    answer = patch(bob, workflow, "name", "His")

    assert answer.status_code == 409
    [conflict] = answer.json()["error"]["conflicts"]
    assert (conflict["field"], conflict["yours"], conflict["theirs"]) == ("name", "His", "Hers")


def test_panel_of_the_workflow_lets_who_may_edit_write_both(alice, vic):
    workflow = make_workflow(alice)
    place = f"/workflows/{workflow.pk}/inspector/"

    assert markup_of(alice.client.get(place)).count("data-header=") == 2
    assert "data-header=" not in markup_of(vic.client.get(place))
