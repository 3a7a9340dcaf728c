"""Gestures that waited in a tab while others went on, sent one after the other on the draft they were made on."""

from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import document, make_workflow
from tests.support.cast import Cast, Person
from workflows.engine.editing import read_ops
from workflows.errors import EditConflict
from workflows.models import Node, Workflow
from workflows.services.editing import gestures


pytestmark = pytest.mark.django_db

TAB = "tab-0001"


@pytest.fixture(autouse=True)
def inside(cast: Cast) -> Any:
    with tenant([cast.team_a.pk]):
        yield


@pytest.fixture
def workflow(cast: Cast) -> Workflow:
    return make_workflow(cast.alice, "Waiting", document("x"))


def rename(person: Person, workflow: Workflow, node: str, title: str, **about: Any) -> None:
    gestures.edit(
        person.principal,
        workflow=workflow,
        ops=read_ops([{"op": "rename", "id": node, "title": title}]),
        **about,
    )


def title_of(workflow: Workflow, node: str) -> str:
    return Node.objects.unscoped().get(workflow=workflow, key=node).title


def test_own_earlier_edit_of_the_same_field_is_no_conflict_whatever_came_between(
    cast: Cast, workflow: Workflow
):
    base = workflow.revision
    rename(cast.bob, workflow, "end", "Bob's", base_revision=base, client="tab-0002")

    rename(cast.alice, workflow, "start", "first", base_revision=base, client=TAB)
    rename(cast.alice, workflow, "start", "second", base_revision=base, client=TAB)

    assert [title_of(workflow, node) for node in ("start", "end")] == ["second", "Bob's"]


def test_somebody_elses_edit_of_the_same_field_conflicts_all_the_same(
    cast: Cast, workflow: Workflow
):
    base = workflow.revision
    rename(cast.bob, workflow, "end", "Bob's", base_revision=base, client="tab-0002")
    rename(cast.alice, workflow, "start", "first", base_revision=base, client=TAB)

    with pytest.raises(EditConflict) as conflict:
        rename(cast.alice, workflow, "end", "mine", base_revision=base, client=TAB)

    (found,) = conflict.value.conflicts
    assert (found.node, found.yours, found.theirs, found.author.name) == (
        "end",
        "mine",
        "Bob's",
        "Bob",
    )


def test_other_tab_of_the_same_person_conflicts_too(cast: Cast, workflow: Workflow):
    """It didn't know: two windows left open are as good as two people."""
    base = workflow.revision
    rename(cast.alice, workflow, "start", "one window", base_revision=base, client=TAB)

    with pytest.raises(EditConflict):
        rename(cast.alice, workflow, "start", "the other", base_revision=base, client="tab-0003")
