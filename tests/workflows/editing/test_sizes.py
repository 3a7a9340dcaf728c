"""A draft never grows beyond what can be read again: the edit that would do it is refused, by name of the limit."""

import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from workflows.engine.editing import EditRefused
from workflows.engine.editing.decode import read_ops
from workflows.engine.language.dsl.limits import MAX_BYTES, check_tree, measure_tree
from workflows.models import Workflow
from workflows.models.documents import from_json, to_json
from workflows.services.editing import gestures, undo
from workflows.services.editor import drafts, snapshots


pytestmark = pytest.mark.django_db

PART = 200_000
dice = random.Random(5)


def text(kind: str, length: int = PART) -> str:
    """PostgreSQL stores the one in next to no room and the other as it is."""
    return "a" * length if kind == "alike" else "".join(dice.choices("abcdefghij \n", k=length))


def edit(person, workflow, *ops):
    return gestures.edit(person.principal, workflow=workflow, ops=read_ops(list(ops)))


def template(number: int, words: str):
    data = {"template": words, "variables": []}
    return {
        "op": "add",
        "node": {
            "id": f"t{number}",
            "kind": "template-transform",
            "x": 0,
            "y": number * 100,
            "data": data,
        },
    }


@pytest.mark.parametrize("kind", ["alike", "mixed"])
def test_edit_that_makes_the_draft_too_large_is_refused_and_nothing_of_it_is_kept(alice, kind):
    workflow = make_workflow(alice)
    for number in range(4):
        edit(alice, workflow, template(number, text(kind)))

    with pytest.raises(EditRefused, match="can have at most 1,000,000 characters") as refused:
        edit(alice, workflow, template(4, text(kind)))

    assert [problem.code for problem in refused.value.problems] == ["edit.too_large"]
    with tenant([alice.team.pk]):
        now = Workflow.objects.unscoped().get(pk=workflow.pk)
    stored = snapshots.take_snapshot(now).document
    assert (now.revision, len(from_json(stored).nodes)) == (5, 6)


def test_text_set_too_long_is_refused_and_a_shorter_one_taken(alice):
    workflow = make_workflow(alice)
    edit(alice, workflow, *(template(number, text("mixed")) for number in range(4)))
    longer = {"op": "set", "id": "t0", "path": ["template"], "value": text("mixed", 2 * PART)}

    with pytest.raises(EditRefused):
        edit(alice, workflow, longer)
    edit(alice, workflow, {**longer, "value": text("mixed", 390_000)})

    assert 990_000 < measure_tree(to_json(drafts.load_draft(workflow))) < MAX_BYTES


def test_draft_that_is_too_large_already_can_be_made_smaller(alice, monkeypatch):
    workflow = make_workflow(alice)
    edit(alice, workflow, template(0, text("mixed")))
    monkeypatch.setattr("workflows.services.editing.gestures.MAX_BYTES", 1_000)

    edit(alice, workflow, {"op": "set", "id": "t0", "path": ["template"], "value": "hello"})
    edit(alice, workflow, {"op": "move", "id": "t0", "x": 1, "y": 1})
    undo.undo(alice.principal, workflow=workflow)
    with pytest.raises(EditRefused):
        undo.undo(alice.principal, workflow=workflow)

    assert measure_tree(to_json(drafts.load_draft(workflow))) < PART


def test_edit_of_a_draft_near_the_limit_adds_to_what_is_known_and_reads_no_other_row(alice):
    workflow = make_workflow(alice)
    edit(alice, workflow, *(template(number, text("mixed")) for number in range(4)))

    with CaptureQueriesContext(connection) as asked:
        edit(alice, workflow, template(4, text("mixed", 1_000)))

    whole = [q["sql"] for q in asked if "sum(" in q["sql"] or '."rank" ASC' in q["sql"]]
    assert not whole, whole


def test_what_was_counted_too_high_is_counted_anew_before_anything_is_refused(alice):
    workflow = make_workflow(alice)
    with tenant([alice.team.pk]):
        Workflow.objects.unscoped().filter(pk=workflow.pk).update(most_characters=MAX_BYTES)

    edit(alice, workflow, template(0, "hello"))

    with tenant([alice.team.pk]):
        known = Workflow.objects.unscoped().get(pk=workflow.pk).most_characters
    assert known == measure_tree(to_json(drafts.load_draft(workflow)))


def test_size_is_what_reading_counts():
    tree = {"a": ["b", 1, None, {"long key": "text", "n": [1.5, True]}], "c": {}}

    assert measure_tree(tree) == 2 + 4 + 1 + 2 + 9 + 4 + 2 + 2
    assert check_tree(tree) == tree
