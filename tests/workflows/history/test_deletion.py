"""A run that has ended is deleted by whom it belongs to, with all that belongs to it but its messages and memories."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.errors import NotAllowed
from accounts.models import AuditEntry
from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from memory.provenance import load_provenance
from tests.factories.workflows import make_message, make_run, make_workflow
from tests.support.cast import Cast
from tests.workflows.history.made import left_of, make_old
from workflows.errors import RunNotEnded
from workflows.execution.usage.counting import count_team
from workflows.models import Message, Run, RunUsage
from workflows.services.runs.deletion import delete_run


pytestmark = pytest.mark.django_db


def test_run_is_deleted_with_the_runs_that_it_started(cast: Cast):
    workflow = make_workflow(cast.alice)
    run = make_old(cast.alice, workflow, 1)
    child = make_old(cast.alice, workflow, 1, parent=run, parent_key="k")
    grandchild = make_old(cast.alice, workflow, 1, parent=child, parent_key="k")
    other = make_old(cast.alice, workflow, 1)

    delete_run(cast.alice.principal, run)

    assert [left_of(gone) for gone in (run, child, grandchild)] == [{}, {}, {}]
    assert left_of(other)
    with tenant([cast.team_a.pk]):
        entry = AuditEntry.objects.unscoped().get(action="run.deleted")
    assert entry.subject == f"run:{run.pk}"
    assert entry.detail == {"workflow": str(workflow.pk), "runs": 3}


@pytest.mark.parametrize("status", ["queued", "running", "paused"])
def test_run_that_has_not_ended_is_not_deleted(cast: Cast, status: str):
    workflow = make_workflow(cast.alice)
    open_run = make_run(cast.alice, workflow, status=status)
    parent = make_old(cast.alice, workflow, 1)
    child = make_run(cast.alice, workflow, status=status, parent=parent, parent_key="k")

    for run in (open_run, parent):
        with pytest.raises(RunNotEnded):
            delete_run(cast.alice.principal, run)

    assert all(map(left_of, (open_run, parent, child)))


def test_run_of_somebody_else_is_not_deleted(cast: Cast):
    run = make_old(cast.alice, make_workflow(cast.alice), 1)

    for person in (cast.bob, cast.ada, cast.carol):
        with pytest.raises(NotAllowed):
            delete_run(person.principal, run)

    assert left_of(run)


def test_message_of_a_deleted_run_stays_in_its_conversation(cast: Cast):
    message = make_message(cast.alice, make_workflow(cast.alice), "Hello?")
    with tenant([cast.team_a.pk]):
        run = Run.objects.unscoped().get(pk=message.run_id)
        Run.objects.unscoped().filter(pk=run.pk).update(
            status="stopped", finished_at=run.created_at
        )

    delete_run(cast.alice.principal, run)

    with tenant([cast.team_a.pk]):
        left = Message.objects.unscoped().get(pk=message.pk)
    assert (left.query, left.run_id) == ("Hello?", None)


def test_usage_of_a_deleted_run_stays(cast: Cast):
    run = make_old(cast.alice, make_workflow(cast.alice), 1, is_counted=False)

    delete_run(cast.alice.principal, run)
    count_team(cast.team_a.pk)

    with tenant([cast.team_a.pk]):
        assert RunUsage.objects.unscoped().get().runs == 1


def test_memory_of_a_deleted_run_says_so(cast: Cast):
    run = make_old(cast.alice, make_workflow(cast.alice), 1)
    private = make_old(cast.bob, make_workflow(cast.bob), 1)
    runs = [str(run.pk), str(private.pk)]
    actors = [f"run:{run.pk}", f"run:{private.pk}"]
    delete_run(cast.alice.principal, run)

    with tenant([cast.team_a.pk]):
        provenance = load_provenance(cast.alice.principal, actors, [*runs, "not an id"])

    assert provenance.deleted_runs == {str(run.pk)}
    assert [provenance.actors[actor] for actor in actors] == ["A deleted run", "A run"]


def test_page_deletes_and_lists_the_others(cast: Cast, client: Client):
    workflow = make_workflow(cast.alice, "Tidied")
    run = make_old(cast.alice, workflow, 1)
    client.force_login(cast.alice.user)
    page = reverse("workflows:run", args=[run.pk])
    url = reverse("workflows:delete_run", args=[run.pk])
    assert url in client.get(page).content.decode()

    answer = client.post(url, follow=True)

    assert "Run of Tidied deleted. Its memories stay." in answer.content.decode()
    assert client.get(page).status_code == 404


def test_page_of_a_run_that_has_not_ended_says_why(cast: Cast, client: Client):
    run = make_run(cast.alice, make_workflow(cast.alice), status="paused")
    client.force_login(cast.alice.user)
    url = reverse("workflows:delete_run", args=[run.pk])
    assert url not in client.get(reverse("workflows:run", args=[run.pk])).content.decode()

    answer = client.post(url, follow=True)

    assert "This run has not ended. Stop it before you delete it." in answer.content.decode()


def test_api_deletes_once(cast: Cast, client: Client, api_key):
    made = api_key(cast.alice)
    run = make_old(cast.alice, make_workflow(cast.alice), 1, api_key=KeyPrincipal(made.key).key)
    headers = {"Authorization": f"Bearer {made.secret}"}

    answers = [client.delete(f"/api/v1/runs/{run.pk}", headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [204, 404]
    assert left_of(run) == {}
