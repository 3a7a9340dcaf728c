"""Undo and redo: each person's own, over what others do, and never by force."""

import threading
from contextlib import suppress
from random import Random

import pytest
from django.db import ProgrammingError, connection, transaction

from accounts.tenancy import tenant
from config.env import ROOT
from tests.engine.editing.gestures import DOCUMENT, random_gesture
from tests.factories.workflows import make_workflow
from workflows.engine.editing import EditRefused, InMemoryStore, read_ops
from workflows.engine.language.dsl import build_tree
from workflows.errors import EditConflict, NothingToUndo
from workflows.models import Revision
from workflows.services.editing import gestures
from workflows.services.editing import undo as undoing
from workflows.services.editing.undo_stacks import StackEntry, replay_entries
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db

SOURCES = sorted((ROOT / "workflows" / "samples").glob("*/workflow.yml"))


def decided(conflicted, holds):
    conflict = conflicted.value
    return undoing.Resolution(conflict.undoes, {each.op: holds for each in conflict.conflicts})


def edit(person, workflow, *ops, **about):
    return gestures.edit(person.principal, workflow=workflow, ops=read_ops(list(ops)), **about)


def undo(person, workflow):
    return undoing.undo(person.principal, workflow=workflow)


def redo(person, workflow):
    return undoing.redo(person.principal, workflow=workflow)


def move(id_, x):
    return {"op": "move", "id": id_, "x": x, "y": 0}


def title(id_, words):
    return {"op": "rename", "id": id_, "title": words}


def titles(workflow):
    return {node.id: node.title for node in drafts.load_draft(workflow).nodes}


def test_undo_takes_back_ones_own_over_what_others_did(alice, bob):
    workflow = make_workflow(alice)
    edit(alice, workflow, title("end", "Mine"), label="Name the end")
    edit(bob, workflow, title("start", "His"))

    change = undo(alice, workflow)

    assert titles(workflow) == {"start": "His", "end": ""}
    assert change.revision.label == "Name the end"
    assert change.redo_label == "Name the end"
    assert change.undo_label is None


def test_undo_where_somebody_else_wrote_since_is_said_and_not_forced(alice, bob):
    workflow = make_workflow(alice)
    edit(alice, workflow, title("end", "Mine"))
    edit(bob, workflow, title("end", "His"))

    with pytest.raises(EditConflict) as conflicted:
        undo(alice, workflow)

    [conflict] = conflicted.value.conflicts
    assert (conflict.node, conflict.field, conflict.theirs, conflict.author.name) == (
        "end",
        "title",
        "His",
        "Bob",
    )
    assert titles(workflow)["end"] == "His"


@pytest.fixture
def stuck(alice, bob):
    """Alice named the end and then Bob did; before, she had named the start."""
    workflow = make_workflow(alice)
    edit(alice, workflow, title("start", "Begin"))
    edit(alice, workflow, title("end", "Mine"), move("start", 9))
    edit(bob, workflow, title("end", "His"))
    with pytest.raises(EditConflict) as conflicted:
        undo(alice, workflow)
    return workflow, conflicted


def test_undo_decided_for_oneself_takes_back_over_what_others_did(alice, stuck):
    workflow, conflicted = stuck

    undoing.undo(alice.principal, workflow=workflow, resolution=decided(conflicted, "mine"))

    assert titles(workflow) == {"start": "Begin", "end": ""}


def test_undo_decided_for_others_takes_back_the_rest_and_goes_on(alice, stuck):
    workflow, conflicted = stuck

    change = undoing.undo(
        alice.principal, workflow=workflow, resolution=decided(conflicted, "theirs")
    )

    assert change.revision is not None
    assert [op["op"] for op in change.revision.ops] == ["move"]
    assert titles(workflow)["end"] == "His"
    undo(alice, workflow)
    assert titles(workflow) == {"start": "Echo", "end": "His"}


def test_undo_decided_for_others_alone_changes_nothing_and_goes_on(alice, bob):
    workflow = make_workflow(alice)
    edit(alice, workflow, title("start", "Begin"))
    edit(alice, workflow, title("end", "Mine"))
    edit(bob, workflow, title("end", "His"))
    with pytest.raises(EditConflict) as conflicted:
        undo(alice, workflow)

    change = undoing.undo(
        alice.principal, workflow=workflow, resolution=decided(conflicted, "theirs")
    )

    assert change.revision is not None
    assert change.revision.ops == []
    undo(alice, workflow)
    assert titles(workflow) == {"start": "Echo", "end": "His"}


def test_undo_of_what_somebody_deleted_brings_it_back_when_so_decided(alice, bob):
    workflow = make_workflow(alice)
    edit(alice, workflow, title("end", "Mine"))
    edit(bob, workflow, {"op": "delete", "id": "end"})
    with pytest.raises(EditConflict) as conflicted:
        undo(alice, workflow)

    undoing.undo(alice.principal, workflow=workflow, resolution=decided(conflicted, "mine"))

    assert titles(workflow)["end"] == ""


def test_undo_asks_once_of_a_title_that_is_written_in_two_ways(alice, bob):
    data = {"type": "template-transform", "title": "One", "template": "", "variables": []}
    source = {
        "version": "0.1.0",
        "kind": "app",
        "app": {"mode": "workflow", "name": "Twice"},
        "workflow": {"graph": {"nodes": [{"id": "t", "position": {"x": 0, "y": 0}, "data": data}], "edges": []}},
    }  # fmt: skip
    workflow = make_workflow(alice, source=source)
    edit(alice, workflow, title("t", "Mine"))
    edit(bob, workflow, title("t", "His"))
    with pytest.raises(EditConflict) as conflicted:
        undo(alice, workflow)
    assert [(conflict.node, conflict.field) for conflict in conflicted.value.conflicts] == [
        ("t", "title")
    ]

    change = undoing.undo(
        alice.principal, workflow=workflow, resolution=decided(conflicted, "mine")
    )

    assert change.revision is not None
    assert [op["op"] for op in change.revision.ops] == ["set", "rename"]
    assert titles(workflow)["t"] == "One"


def test_undo_decided_before_another_edit_is_not_done_to_that_one(alice, stuck):
    workflow, conflicted = stuck
    edit(alice, workflow, title("start", "Another"))

    with pytest.raises(EditConflict) as again:
        undoing.undo(alice.principal, workflow=workflow, resolution=decided(conflicted, "mine"))

    assert again.value.conflicts == ()
    assert titles(workflow) == {"start": "Another", "end": "His"}


def test_undo_is_free_again_once_the_other_took_theirs_back(alice, bob):
    workflow = make_workflow(alice)
    edit(alice, workflow, title("end", "Mine"))
    edit(bob, workflow, title("end", "His"))
    undo(bob, workflow)

    undo(alice, workflow)

    assert titles(workflow)["end"] == ""


def test_own_edit_empties_what_could_be_redone(alice):
    workflow = make_workflow(alice)
    edit(alice, workflow, move("end", 1))
    undo(alice, workflow)
    edit(alice, workflow, move("start", 2))

    with pytest.raises(NothingToUndo):
        redo(alice, workflow)


def test_nothing_of_anybody_elses_is_undone(alice, bob):
    workflow = make_workflow(alice)
    edit(alice, workflow, move("end", 1))

    with pytest.raises(NothingToUndo):
        undo(bob, workflow)


def test_deleting_a_node_with_all_that_hangs_on_it_can_be_undone(alice):
    workflow = make_workflow(alice, source=build_tree(DOCUMENT))
    before = drafts.load_draft(workflow)
    edit(alice, workflow, {"op": "delete", "id": "it"}, {"op": "delete", "id": "l1", "heal": True})

    undo(alice, workflow)

    assert drafts.load_draft(workflow) == before


def test_delete_all_and_undo_gives_back_every_seed_document(alice):
    for path in SOURCES:
        workflow = make_workflow(alice, path.stem, path.read_text())
        before = drafts.load_draft(workflow)
        tops = [part.id for part in before.nodes if part.parent is None]
        tops += [note.id for note in before.notes]

        edit(alice, workflow, *({"op": "delete", "id": id_} for id_ in tops))
        emptied = drafts.load_draft(workflow)
        undo(alice, workflow)

        assert (emptied.nodes, emptied.edges, emptied.notes) == ((), (), ())
        assert drafts.load_draft(workflow) == before, path.name


def take_turns(step, people, workflow):
    """Until nobody gets further: whoever conflicts waits for the other."""
    has_moved = True
    while has_moved:
        has_moved = False
        for person in people:
            with suppress(NothingToUndo, EditConflict), transaction.atomic():
                step(person, workflow)
                has_moved = True


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 12))]
)
def test_everybody_undoing_everything_gives_back_the_first_draft(alice, bob, seed):
    workflow = make_workflow(alice, source=build_tree(DOCUMENT))
    before, rng = drafts.load_draft(workflow), Random(seed)
    for number in range(10):
        person = rng.choice([alice, bob])
        asked = random_gesture(rng, InMemoryStore(drafts.load_draft(workflow)), f"g{number}")
        with suppress(EditRefused), transaction.atomic():
            edit(person, workflow, *asked)

    take_turns(undo, [alice, bob], workflow)
    undone = drafts.load_draft(workflow)
    take_turns(redo, [bob, alice], workflow)
    take_turns(undo, [bob, alice], workflow)

    assert undone == before
    assert drafts.load_draft(workflow) == before


def test_stacks_follow_from_the_log():
    log = [
        StackEntry(2, "edit", None, "a"),
        StackEntry(3, "edit", None, "b"),
        StackEntry(4, "undo", 3, "b"),
        StackEntry(5, "undo", 2, "a"),
        StackEntry(6, "redo", 5, "a"),
    ]

    stacks = replay_entries(log)

    assert [entry.number for entry in stacks.undoable] == [6]
    assert [entry.number for entry in stacks.redoable] == [4]


def test_revision_is_never_changed(alice):
    workflow = make_workflow(alice)
    edit(alice, workflow, move("end", 1))

    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        tenant([workflow.team_id]),
    ):
        Revision.objects.unscoped().filter(workflow=workflow).update(label="x")


@pytest.mark.django_db(transaction=True)
def test_two_transactions_at_once_lose_nothing(alice, bob):
    """Both made on the same revision, at the same moment, in connections of their own."""
    workflow = make_workflow(alice)
    both = threading.Barrier(2)
    failures: list[Exception] = []

    def act(person, ids):
        try:
            both.wait()
            for number in range(10):
                edit(
                    person,
                    workflow,
                    move(ids, number + 1),
                    base_revision=1,
                    client=person.user.name,
                )
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=args) for args in ((alice, "start"), (bob, "end"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    document = drafts.load_draft(workflow)
    assert {node.id: node.position.x for node in document.nodes} == {"start": 10, "end": 10}
    with tenant([workflow.team_id]):
        numbers = Revision.objects.unscoped().filter(workflow=workflow).order_by("number")
        assert list(numbers.values_list("number", flat=True)) == list(range(1, 22))
