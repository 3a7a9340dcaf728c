"""The programmes' door."""

import pytest

from tests.factories.workflows import make_version, make_workflow
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db


def call(person, method, workflow, path, body=None):
    client = person.client if hasattr(person, "client") else person
    send = getattr(client, method)
    given = {"data": body, "content_type": "application/json"} if body is not None else {}
    return send(f"/api/v1/workflows/{workflow.pk}/{path}", **given)


def test_edit_undo_redo_over_the_api(alice):
    workflow = make_workflow(alice)
    before = drafts.load_draft(workflow)

    edited = call(alice, "patch", workflow, "draft", {"ops": [{"op": "delete", "id": "end"}]})
    undone = call(alice, "post", workflow, "undo", {})
    assert drafts.load_draft(workflow) == before
    redone = call(alice, "post", workflow, "redo", {})

    assert [a.status_code for a in (edited, undone, redone)] == [200, 200, 200], edited.content
    assert [a.json()["revision"] for a in (edited, undone, redone)] == [2, 3, 4]
    assert undone.json()["undoes"] == 2
    assert redone.json()["undoes"] == 3
    assert redone.json()["redo"] is None
    assert [node.id for node in drafts.load_draft(workflow).nodes] == ["start"]
    assert call(alice, "post", workflow, "redo", {}).status_code == 409


def test_version_diff_and_restore(alice):
    workflow = make_workflow(alice)
    make_version(alice, workflow, note="First")
    before = drafts.load_draft(workflow)
    ops = [
        {"op": "set", "id": "start", "path": ["title"], "value": "Begin"},
        {"op": "add", "node": {"id": "extra", "kind": "answer"}},
        {"op": "move", "id": "end", "x": 9, "y": 9},
    ]
    assert call(alice, "patch", workflow, "draft", {"ops": ops}).status_code == 200

    found = call(alice, "get", workflow, "versions/1/diff/draft").json()
    restored = call(alice, "post", workflow, "versions/1/restore", {})

    assert found["nodes"] == {"end": "moved", "extra": "added", "start": "changed"}
    assert found["fields"]["start"] == [{"path": "title", "before": "Echo", "after": "Begin"}]
    assert restored.status_code == 200, restored.content
    assert restored.json()["everything"] is True
    assert drafts.load_draft(workflow) == before
    call(alice, "post", workflow, "undo", {})
    assert {n.id for n in drafts.load_draft(workflow).nodes} == {"start", "end", "extra"}


def test_number_without_publishing_then_publish_it(alice):
    workflow = make_workflow(alice)

    added = call(alice, "post", workflow, "versions", {"note": "Kept", "publish": False})
    again = call(alice, "post", workflow, "versions", {"publish": False})
    published = call(alice, "post", workflow, "versions/1/publish", {})

    assert (added.status_code, added.json()["published"]) == (201, False), added.content
    assert again.status_code == 409
    assert (published.status_code, published.json()["published"]) == (200, True)


def test_whole_document_put_in_can_be_undone(alice):
    workflow = make_workflow(alice)
    before = drafts.load_draft(workflow)
    other = {"version": "0.1.0", "nodes": [{"id": "s", "data": {"type": "start"}}], "edges": []}

    assert call(alice, "put", workflow, "draft", {"document": other}).status_code == 200
    undone = call(alice, "post", workflow, "undo", {})

    assert undone.status_code == 200, undone.content
    assert drafts.load_draft(workflow) == before


def test_go_back_takes_back_everybodys_edits(alice, bob):
    workflow = make_workflow(alice)
    before = drafts.load_draft(workflow)
    call(alice, "patch", workflow, "draft", {"ops": [{"op": "move", "id": "end", "x": 1, "y": 1}]})
    call(bob, "patch", workflow, "draft", {"ops": [{"op": "rename", "id": "end", "title": "Z"}]})

    back = call(alice, "post", workflow, "revisions/1/restore", {})

    assert back.status_code == 200, back.content
    assert drafts.load_draft(workflow) == before
    listed = call(alice, "get", workflow, "revisions").json()
    assert [row["revision"] for row in listed["items"]] == [4, 3, 2, 1]


def test_same_key_twice_is_done_once(alice):
    workflow = make_workflow(alice)
    body = {"key": "k", "ops": [{"op": "move", "id": "end", "x": 1, "y": 1}]}

    one, other = (call(alice, "patch", workflow, "draft", body) for _ in range(2))

    assert one.json() == other.json()
    assert call(alice, "get", workflow, "changes?after=1").json()["revision"] == 2


def test_same_field_conflict_says_both_values_and_can_be_decided(alice, bob):
    workflow = make_workflow(alice)
    mine = {"base": 1, "ops": [{"op": "rename", "id": "end", "title": "Mine"}]}
    call(bob, "patch", workflow, "draft", {"ops": [{"op": "rename", "id": "end", "title": "His"}]})

    refused = call(alice, "patch", workflow, "draft", mine)
    decided = call(alice, "patch", workflow, "draft", {**mine, "resolve": {"0": "mine"}})

    assert refused.status_code == 409, refused.content
    [conflict] = refused.json()["error"]["conflicts"]
    assert conflict == {
        "op": 0, "node": "end", "edge": None, "field": "title",
        "yours": "Mine", "theirs": "His", "by": "Bob",
    }  # fmt: skip
    assert [c["revision"] for c in refused.json()["changes"]] == [2]
    assert decided.status_code == 200
    assert [n.title for n in drafts.load_draft(workflow).nodes if n.id == "end"] == ["Mine"]


@pytest.mark.parametrize(
    ("way", "whose", "title"),
    [
        ("undo", "mine", ""),
        ("undo", "theirs", "His"),
        ("redo", "mine", "Mine"),
        ("redo", "theirs", "His"),
    ],
)
def test_undo_or_redo_that_conflicts_is_decided_over_the_api(alice, bob, way, whose, title):
    workflow = make_workflow(alice)
    rename = {"op": "rename", "id": "end"}
    call(alice, "patch", workflow, "draft", {"ops": [{**rename, "title": "Mine"}]})
    about = 2
    if way == "redo":
        about = call(alice, "post", workflow, "undo", {}).json()["revision"]
    call(bob, "patch", workflow, "draft", {"ops": [{**rename, "title": "His"}]})
    resolve = {"0": whose}

    refused = call(alice, "post", workflow, way, {})
    undecided = call(alice, "post", workflow, way, {"undoes": about})
    other = call(alice, "post", workflow, way, {"undoes": 1, "resolve": resolve})
    decided = call(alice, "post", workflow, way, {"undoes": about, "resolve": resolve})

    assert [a.status_code for a in (refused, undecided, other, decided)] == [409, 409, 409, 200]
    error = refused.json()["error"]
    assert (error["undoes"], [conflict["by"] for conflict in error["conflicts"]]) == (
        about,
        ["Bob"],
    )
    assert decided.json()["undoes"] == about
    assert [n.title for n in drafts.load_draft(workflow).nodes if n.id == "end"] == [title]


def test_stale_edit_of_another_field_is_rebased(alice, bob):
    workflow = make_workflow(alice)
    call(bob, "patch", workflow, "draft", {"ops": [{"op": "rename", "id": "end", "title": "His"}]})

    answer = call(
        alice,
        "patch",
        workflow,
        "draft",
        {"base": 1, "ops": [{"op": "move", "id": "end", "x": 7, "y": 7}]},
    )

    assert answer.status_code == 200
    [end] = [n for n in drafts.load_draft(workflow).nodes if n.id == "end"]
    assert (end.title, end.position.x) == ("His", 7)


@pytest.mark.parametrize(
    ("op", "code"),
    [
        ({"op": "move", "id": "nobody", "x": 1, "y": 1}, "edit.unknown"),
        ({"op": "connect", "edge": {"source": "start", "target": "end"}}, "edit.edge_twice"),
        ({"op": "connect", "edge": {"source": "end", "target": "start"}}, "edit.edge_into_start"),
        ({"op": "add", "node": {"id": "s2", "kind": "start"}}, "edit.root_several"),
        ({"op": "reparent", "id": "end", "parent": "start", "x": 0, "y": 0}, "edit.parent_kind"),
    ],
)
def test_what_the_language_forbids_is_refused_with_its_place(alice, op, code):
    workflow = make_workflow(alice)

    answer = call(alice, "patch", workflow, "draft", {"ops": [op]})

    assert answer.status_code == 422
    [problem] = answer.json()["error"]["problems"]
    assert problem["code"] == code
    assert call(alice, "get", workflow, "changes?after=1").json()["revision"] == 1


def test_viewer_may_read_the_history_and_change_nothing(alice, vic, carol):
    workflow = make_workflow(alice)
    ops = {"ops": [{"op": "move", "id": "end", "x": 1, "y": 1}]}

    assert call(vic, "patch", workflow, "draft", ops).status_code == 403
    assert call(vic, "get", workflow, "revisions").status_code == 200
    assert call(carol, "patch", workflow, "draft", ops).status_code == 404
    assert call(carol, "get", workflow, "changes?after=1").status_code == 404
