"""Archiving what others use: it says first what uses it, and archives only after that."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from tests.factories.workflows import document, make_version, make_workflow, within
from tests.support.cast import Cast, Person
from tests.workflows.views.conftest import text_of
from workflows.models import DataSet, Evaluation, Node, Trigger, Workflow
from workflows.services.catalog.uses import list_uses
from workflows.services.editor import drafts
from workflows.services.editor.snapshots import take_snapshot


ARCHIVE = reverse("workflows:archive_chosen")


def archive_address(workflow: Workflow) -> str:
    return reverse("workflows:archive", args=[workflow.pk])


def is_archived(person: Person, workflow: Workflow) -> bool:
    with within(person):
        return Workflow.objects.unscoped().get(pk=workflow.pk).is_archived


def make_caller(person: Person, name: str, reference: str, **data: Any) -> Workflow:
    node = {"id": "ask", "data": data or {"type": "sub-workflow", "workflow": reference}}
    source = document(name)
    return make_workflow(person, name, {**source, "nodes": [*source["nodes"], node]})


def test_unused_workflow_is_archived_at_once(bob: Person) -> None:
    workflow = make_workflow(bob, "Weather")
    make_caller(bob, "Other", "weather-of-another-name")

    bob.client.post(archive_address(workflow))

    assert is_archived(bob, workflow)


@pytest.mark.parametrize("name", ["Weather", "天气"])
def test_what_uses_a_workflow_is_named_before_it_is_archived(bob: Person, name: str) -> None:
    workflow = make_workflow(bob, name)
    make_caller(bob, "Morning", workflow.slug)
    make_caller(bob, "Evening", str(workflow.pk))
    tool = {"name": "ask", "source": "workflow", "provider": workflow.slug, "enabled": True}
    make_caller(
        bob, "Agent", "", type="agent", tools=[tool], query="Hi",
        model={"provider": "offline", "name": "offline", "mode": "chat"},
    )  # fmt: skip

    page = text_of(bob.client.post(archive_address(workflow)))

    assert [caller in page for caller in ("Morning", "Evening", "Agent")] == [True] * 3
    assert not is_archived(bob, workflow)
    bob.client.post(archive_address(workflow), {"confirmed": "yes"})
    assert is_archived(bob, workflow)


def test_published_version_counts_although_its_draft_has_changed(bob: Person) -> None:
    workflow = make_workflow(bob, "Weather")
    make_version(bob, workflow)
    caller = make_caller(bob, "Morning", workflow.slug)
    make_version(bob, caller)
    with within(bob):
        Node.objects.unscoped().filter(workflow=caller, key="ask").delete()

    [uses] = list_uses(bob.principal, [workflow])

    assert [each.pk for each in uses.callers] == [caller.pk]


def test_archived_callers_and_those_archived_together_are_no_uses(bob: Person) -> None:
    workflow = make_workflow(bob, "Weather")
    drafts.archive(bob.principal, workflow=make_caller(bob, "Old", workflow.slug))
    together = make_caller(bob, "Together", workflow.slug)

    bob.client.post(ARCHIVE, {"workflow": [workflow.pk, together.pk]})

    assert is_archived(bob, workflow)
    assert is_archived(bob, together)


def test_triggers_public_page_and_data_sets_are_named(bob: Person) -> None:
    workflow = make_workflow(bob, "Weather")
    with within(bob):
        own = {"team": bob.team, "workflow": workflow}
        for title, is_on in (("Every day", True), ("Off", False)):
            Trigger.objects.create(
                **own, node_id=title, title=title, kind="trigger-schedule",
                is_published=True, is_on=is_on,
            )  # fmt: skip
        data_set = DataSet.objects.create(team=bob.team, name="Forecasts")
        Evaluation.objects.create(
            **own, data_set=data_set, snapshot=take_snapshot(workflow), label="draft",
            scorer="exact",
        )  # fmt: skip

    page = text_of(bob.client.post(ARCHIVE, {"workflow": workflow.pk}))

    assert [text in page for text in ("Every day", "Forecasts", "Public page")] == [
        True, True, False,
    ]  # fmt: skip
    assert "Schedule: Off" not in page
    assert not is_archived(bob, workflow)


def test_workflow_of_another_team_names_nothing(cast: Cast) -> None:
    workflow = make_workflow(cast.bob, "Weather")
    make_caller(cast.carol, "Foreign", workflow.slug)

    assert list_uses(cast.bob.principal, [workflow]) == []


def test_api_names_what_uses_a_workflow_and_archives_it_only_when_told_so(
    bob: Person, api_key: Callable[..., Any]
) -> None:
    client = api_key(bob)
    workflow = make_workflow(bob, "Weather")
    make_caller(bob, "Morning", workflow.slug)
    address = f"/api/v1/workflows/{workflow.pk}"

    refused = client.delete(address)

    error = refused.json()["error"]
    assert (refused.status_code, error["type"]) == (409, "WorkflowInUse")
    assert [(each["code"], "Morning" in each["message"]) for each in error["problems"]] == [
        ("used.workflow", True)
    ]
    assert "Morning" in error["message"]
    assert not is_archived(bob, workflow)
    assert client.delete(f"{address}?confirm_used=true").status_code == 204
    assert is_archived(bob, workflow)
    assert client.delete(address).json()["error"]["type"] == "WorkflowArchived"


def test_api_archives_at_once_what_nothing_uses(bob: Person, api_key: Callable[..., Any]) -> None:
    workflow = make_workflow(bob, "Weather")

    assert api_key(bob).delete(f"/api/v1/workflows/{workflow.pk}").status_code == 204
    assert is_archived(bob, workflow)
