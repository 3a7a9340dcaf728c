"""A workflow that is archived asks nobody any more: its waiting runs end with the reason."""

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast
from tests.workflows.questions.asking import ask_people, list_inbox, pay
from workflows.errors import WaitClosed
from workflows.execution.driver import ARCHIVED
from workflows.models import Run, RunEvent, RunWait
from workflows.services.editor.drafts import archive, unarchive


pytestmark = pytest.mark.django_db


def load_run(run: Run) -> Run:
    with tenant([run.team_id]):
        return Run.objects.unscoped().get(pk=run.pk)


def test_archiving_ends_the_runs_that_wait_for_a_person(cast: Cast) -> None:
    wait = ask_people(cast.bob, f"user:{cast.vic.user.pk}")

    archive(cast.bob.principal, workflow=wait.run.workflow)

    run = load_run(wait.run)
    assert (run.status, run.error) == ("stopped", ARCHIVED)
    assert list_inbox(cast.vic) == []
    with pytest.raises(WaitClosed, match="the run has ended"):
        pay(cast.vic, wait)
    with tenant([run.team_id]):
        (finished,) = RunEvent.objects.unscoped().filter(run=run, name="run_finished")
        entry = AuditEntry.objects.unscoped().get(action="run.cancelled")
    assert finished.data["error"] == ARCHIVED
    assert entry.detail == {"reason": "archived"}
    page = cast.bob.client.get(reverse("workflows:run", args=[run.pk])).content.decode()
    assert "so nobody answers its question any more" in page
    assert "Stopped by a user" not in page


def test_other_runs_of_the_workflow_and_questions_of_others_stay(cast: Cast) -> None:
    workflow = make_workflow(cast.bob)
    asking = ask_people(cast.bob, workflow=workflow)
    running = make_run(cast.bob, workflow, status="running")
    delayed = make_run(cast.bob, workflow, status="paused", pause={"reason": "time"})
    answered = ask_people(cast.bob, workflow=workflow)
    with tenant([cast.team_a.pk]):
        RunWait.objects.unscoped().filter(pk=answered.pk).update(answered_at=timezone.now())
    other = ask_people(cast.bob)

    archive(cast.bob.principal, workflow=workflow)

    runs = (asking.run, running, delayed, answered.run, other.run)
    assert [load_run(run).status for run in runs] == [
        "stopped",
        "running",
        "paused",
        "paused",
        "paused",
    ]


def test_restored_workflow_does_not_ask_again(cast: Cast) -> None:
    wait = ask_people(cast.bob)
    archive(cast.bob.principal, workflow=wait.run.workflow)

    unarchive(cast.bob.principal, workflow=wait.run.workflow)

    assert load_run(wait.run).status == "stopped"
    assert list_inbox(cast.bob) == []


def test_question_of_a_running_run_takes_no_answer_once_the_workflow_is_archived(
    cast: Cast,
) -> None:
    wait = ask_people(cast.bob, status="running", pause=None)
    archive(cast.bob.principal, workflow=wait.run.workflow)

    with pytest.raises(WaitClosed):
        pay(cast.bob, wait)
    assert list_inbox(cast.bob) == []
