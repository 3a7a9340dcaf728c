"""A start beyond the runs of a team that may wait is refused, by the API and on pages, until one of them has left."""

from typing import Any

import pytest
from django.utils import timezone

from tests.factories.workflows import make_run, make_version, make_workflow, within
from tests.support.cast import Cast, KeyClient, make_key
from workflows.errors import QueueFull
from workflows.models import Run, Workflow
from workflows.models.run import RunStatus
from workflows.services.runs.parked import may_continue
from workflows.services.runs.runs import start_run


@pytest.fixture
def workflow(cast: Cast) -> Workflow:
    workflow = make_workflow(cast.alice)
    make_version(cast.alice, workflow)
    return workflow


@pytest.fixture
def full_queue(cast: Cast, workflow: Workflow, settings: Any) -> list[Run]:
    settings.TEAM_QUEUED_RUNS = 2
    return [start_run(cast.alice.principal, workflow=workflow) for _ in range(2)]


def test_api_refuses_a_start_with_a_sentence_and_the_time_to_wait(
    cast: Cast, workflow: Workflow, full_queue: list[Run]
) -> None:
    client = KeyClient(*make_key(cast, cast.alice))

    answer = client.post(
        f"/api/v1/workflows/{workflow.pk}/runs",
        {"version": "draft"},
        content_type="application/json",
    )

    error = answer.json()["error"]
    assert (answer.status_code, answer["Retry-After"]) == (429, "30")
    assert (error["type"], error["retryable"]) == ("QueueFull", True)
    assert error["message"].startswith("2 runs of your team are waiting already")


def test_page_refuses_a_start_with_the_sentence(
    cast: Cast, workflow: Workflow, full_queue: list[Run]
) -> None:
    answer = cast.alice.client.post(f"/workflows/{workflow.pk}/start/", {"text": "hi"})

    assert (answer.status_code, answer["Retry-After"]) == (429, "30")
    assert "2 runs of your team are waiting already" in answer.content.decode()


def test_room_is_the_teams_own_and_comes_back(
    cast: Cast, workflow: Workflow, full_queue: list[Run]
) -> None:
    theirs = make_workflow(cast.carol)

    start_run(cast.carol.principal, workflow=theirs)
    with pytest.raises(QueueFull):
        start_run(cast.alice.principal, workflow=workflow)
    with within(cast.alice):
        Run.objects.unscoped().filter(pk=full_queue[0].pk).update(status=RunStatus.RUNNING)
    start_run(cast.alice.principal, workflow=workflow)


def test_page_of_a_parked_run_says_why_and_offers_to_continue_it(
    cast: Cast, workflow: Workflow
) -> None:
    with within(cast.alice):
        run = make_run(
            cast.alice,
            workflow,
            status=RunStatus.FAILED,
            kill_count=3,
            last_seq=1,
            error="crashed",
            finished_at=timezone.now(),
        )
        run.events.create(
            team_id=run.team_id,
            seq=1,
            name="node_state_change",
            data={"node": "end", "status": "running"},
            at=timezone.now(),
        )
        assert may_continue(cast.alice.principal, run)
        assert not may_continue(cast.vic.principal, run)

    page = cast.alice.client.get(f"/runs/{run.pk}/").content.decode()
    answer = cast.alice.client.post(f"/runs/{run.pk}/continue/")

    assert "3 workers crashed one after the other during these steps" in page
    assert "Continue this run" in page
    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{run.pk}/")
    with within(cast.alice):
        continued = Run.objects.unscoped().get(pk=run.pk)
    assert (continued.status, continued.kill_count, continued.error) == ("queued", 0, "")
    assert cast.alice.client.post(f"/runs/{run.pk}/continue/").status_code == 409
