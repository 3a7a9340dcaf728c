"""The page's door: one gesture in, its Change out."""

import json

import pytest

from accounts.models import User
from tests.factories.workflows import make_workflow


pytestmark = pytest.mark.django_db


def patch(person, workflow, ops, **about):
    body = {"base": workflow.revision, "ops": ops, **about}
    return person.client.patch(
        f"/workflows/{workflow.pk}/draft/", json.dumps(body), content_type="application/json"
    )


def test_gesture_is_one_revision_and_answers_the_change(alice):
    workflow = make_workflow(alice)

    answer = patch(
        alice,
        workflow,
        [
            {"op": "add", "node": {"id": "a", "kind": "answer", "x": 5, "y": 6}},
            {"op": "connect", "edge": {"source": "start", "target": "a"}},
            {"op": "move", "id": "end", "x": 400, "y": 0},
        ],
        label="Add an answer",
        key="k1",
        client="tab",
    )

    assert answer.status_code == 200, answer.content
    change = answer.json()
    assert change["revision"] == 2
    assert [op["op"] for op in change["ops"]] == ["add", "connect", "move"]
    assert change["author"]["name"] == "Alice"
    assert change["undo"] == {"label": "Add an answer"}
    assert set(change["html"]["nodes"]) == {"a", "end"}
    assert list(change["html"]["edges"]) == ["start-source-a-target"]


def test_container_that_grew_is_one_revision_and_undone_with_it(alice):
    workflow = make_workflow(alice)
    box = {"id": "it", "kind": "iteration", "x": 0, "y": 0, "width": 400, "height": 200}
    workflow.revision = patch(alice, workflow, [{"op": "add", "node": box}]).json()["revision"]

    inside = {"id": "a", "kind": "template-transform", "x": 400, "y": 60, "parent": "it"}
    change = patch(alice, workflow, [{"op": "add", "node": inside}]).json()
    undone = alice.client.post(
        f"/workflows/{workflow.pk}/undo/", "{}", content_type="application/json"
    ).json()

    # The template's text is from now on the output of each round.
    assert [op["op"] for op in change["ops"]] == ["add", "set", "resize"]
    assert 'data-w="680"' in change["html"]["nodes"]["it"]
    assert sorted(op["op"] for op in undone["ops"]) == ["delete", "resize", "set"]
    assert 'data-w="400"' in undone["html"]["nodes"]["it"]


def test_conflict_says_whether_it_is_with_another_tab_of_ones_own(alice, bob):
    workflow = make_workflow(alice)
    rename = {"op": "rename", "id": "end", "title": "First"}
    assert patch(alice, workflow, [rename], client="one").status_code == 200

    own = patch(alice, workflow, [{**rename, "title": "Second"}], client="two")
    others = patch(bob, workflow, [{**rename, "title": "Third"}], client="three")

    assert (own.status_code, others.status_code) == (409, 409)
    assert [(c["own"], c["by"]) for c in own.json()["error"]["conflicts"]] == [(True, "Alice")]
    assert [(c["own"], c["by"]) for c in others.json()["error"]["conflicts"]] == [(False, "Alice")]


def test_conflict_names_the_field_as_its_form_does(alice, bob):
    workflow = make_workflow(alice)
    row = {"variable": "a", "value_selector": ["start", "text"]}
    put = {"op": "set", "id": "end", "path": ["outputs", 0, "variable"], "value": "mine"}
    workflow.revision = patch(
        alice, workflow, [{**put, "path": ["outputs"], "value": [row]}]
    ).json()["revision"]
    assert patch(alice, workflow, [put]).status_code == 200

    conflict = patch(bob, workflow, [{**put, "value": "other"}]).json()["error"]["conflicts"][0]

    assert conflict["label"] == "Output 1 › Name"


def test_conflict_between_two_people_of_one_name_is_not_ones_own(alice, bob):
    User.objects.update(name="Kim")
    workflow = make_workflow(alice)
    rename = {"op": "rename", "id": "end", "title": "First"}
    assert patch(alice, workflow, [rename], client="one").status_code == 200

    own = patch(alice, workflow, [{**rename, "title": "Second"}], client="two").json()
    others = patch(bob, workflow, [{**rename, "title": "Third"}], client="three").json()

    assert [(c["own"], c["by"]) for c in own["error"]["conflicts"]] == [(True, "Kim")]
    assert [(c["own"], c["by"]) for c in others["error"]["conflicts"]] == [(False, "Kim")]
    assert own["error"]["message"] != others["error"]["message"]
    assert (own["revision"], others["revision"]) == (2, 2)


def test_undo_that_conflicts_says_of_which_revision_and_is_decided(alice, bob):
    workflow = make_workflow(alice)
    for person, title in ((alice, "Mine"), (bob, "His")):
        patch(person, workflow, [{"op": "rename", "id": "end", "title": title}])
        workflow.revision += 1
    path = f"/workflows/{workflow.pk}/undo/"

    conflicted = alice.client.post(path, "{}", content_type="application/json")
    error = conflicted.json()["error"]
    done = alice.client.post(
        path,
        json.dumps({"undoes": error["undoes"], "resolve": {"0": "mine"}}),
        content_type="application/json",
    )

    assert conflicted.status_code == 409
    [conflict] = error["conflicts"]
    assert (conflict["node"], conflict["field"], conflict["theirs"], conflict["by"]) == (
        "end",
        "title",
        "His",
        "Bob",
    )
    assert done.status_code == 200, done.content
    assert done.json()["undoes"] == error["undoes"]
    assert [(op["op"], op["title"]) for op in done.json()["ops"]] == [("rename", "")]
