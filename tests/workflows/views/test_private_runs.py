"""A run for somebody outside shows its programme's maker what was recalled of theirs, and the trail says so."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient
from django.utils import timezone

from accounts import audit
from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow, within
from tests.support.cast import Cast
from tests.workflows.views.conftest import text_of
from workflows.execution.events.hub import get_hub
from workflows.models import DryRunChange, Run, RunEvent, Step, Task
from workflows.models.run import RunStatus


pytestmark = pytest.mark.django_db

FACT = {
    "id": "018f0000-0000-7000-8000-000000000001",
    "key": "k",
    "value": "Uma is allergic to walnuts.",
}


def run_for(
    cast: Cast,
    subject: str,
    scope: str = "user",
    namespace: str = "",
    injected: bool = False,
    **more: Any,
) -> Run:
    run = make_run(
        cast.bob,
        make_workflow(cast.bob),
        status=RunStatus.SUCCEEDED,
        finished_at=timezone.now(),
        subject=subject,
        subject_user=None,
        last_seq=2,
        **more,
    )
    told: dict[str, Any] = {
        "node": "n",
        "scope": scope,
        "namespace": namespace or f"user:{subject}",
        "entries": [FACT],
        "injected": injected,
    }
    with within(cast.bob):
        RunEvent.objects.create(
            team_id=run.team_id, run=run, seq=1, name="memory_recalled", data=told
        )
        ended: dict[str, Any] = {"status": run.status, "outputs": {}, "error": None}
        RunEvent.objects.create(
            team_id=run.team_id, run=run, seq=2, name="run_finished", data=ended
        )
        Step.objects.create(
            team_id=run.team_id,
            run=run,
            node_key="n",
            kind="memory-recall",
            status="succeeded",
            outputs={"results": [FACT]},
        )
    return run


def looks(cast: Cast) -> list[tuple[str, str, str]]:
    with tenant([cast.team_a.pk]):
        rows = AuditEntry.objects.unscoped().filter(action="memory.looked_into").order_by("seq")
        return [(one.actor, one.subject, one.detail["run"]) for one in rows]


def test_maker_of_the_run_sees_whose_it_is_and_the_trail_that_they_looked(cast: Cast) -> None:
    run = run_for(cast, "uma")

    page = text_of(cast.bob.client.get(f"/runs/{run.pk}/"))
    panel = text_of(cast.bob.client.get(f"/runs/{run.pk}/memory/"))

    for one in (page, panel):
        assert FACT["value"] in one
        assert "Private memory of uma. Your access is logged." in one
        assert f"/memory/entries/{FACT['id']}/" not in one  # it would lead nowhere
    rows = looks(cast)
    assert [(actor, run_id) for actor, _, run_id in rows] == [
        (f"user:{cast.bob.user.pk}", str(run.pk))
    ] * 2  # once a page
    trail = text_of(cast.ada.client.get("/team/audit/"))
    assert "viewed private memory" in trail


@pytest.mark.parametrize("name", ["alice", "ada", "vic", "carol"])
def test_nobody_else_sees_it_and_no_look_is_noted(cast: Cast, name: str) -> None:
    run = run_for(cast, "uma")

    for address in (f"/runs/{run.pk}/", f"/runs/{run.pk}/memory/", f"/api/v1/runs/{run.pk}"):
        answer = cast.people[name].client.get(address)
        assert answer.status_code == 404, address
        assert "walnuts" not in text_of(answer)
    assert looks(cast) == []


def test_what_is_no_outside_persons_own_is_nobodys_secret(cast: Cast) -> None:
    played = run_for(cast, f"ben@{cast.bob.user.pk}")
    shared = run_for(cast, "uma", scope="global", namespace="global:shop")

    for run in (played, shared):
        page = text_of(cast.bob.client.get(f"/runs/{run.pk}/"))
        assert (FACT["value"] in page, "that you looked" in page) == (True, False)
    assert looks(cast) == []


def test_run_opens_without_memory_and_nothing_is_shown(cast: Cast, settings: Any) -> None:
    run = run_for(cast, "uma")
    settings.MEMORY_ENABLED = False

    assert cast.bob.client.get(f"/runs/{run.pk}/").status_code == 200


def test_page_of_a_task_for_somebody_outside_says_so_as_well(cast: Cast) -> None:
    run = run_for(cast, "uma", injected=True)
    with within(cast.bob):
        task = Task.objects.create(
            team_id=run.team_id,
            title="Cook",
            run=run,
            workflow=run.workflow,
            subject="uma",
            started_by=cast.bob.user,
        )

    page = text_of(cast.bob.client.get(f"/tasks/{task.pk}/"))

    assert (FACT["value"] in page, "Private memory of uma" in page) == (True, True)
    assert len(looks(cast)) == 1


def test_what_a_test_run_would_write_is_looked_at_too(cast: Cast) -> None:
    run = run_for(cast, "uma", scope="global", namespace="global:shop")
    with within(cast.bob):
        DryRunChange.objects.create(
            team_id=run.team_id,
            run=run,
            number=1,
            node_key="n",
            operation="store",
            scope="user",
            namespace="user:uma",
            key="k",
            entry={"value": FACT["value"]},
        )

    cast.bob.client.get(f"/runs/{run.pk}/memory/")
    cast.bob.client.get(f"/api/v1/runs/{run.pk}/memory")

    assert len(looks(cast)) == 1  # the page's; the API had nothing to add


PATHS = ["", "/steps/n"]


@pytest.mark.parametrize("path", PATHS)
def test_who_reads_it_over_the_api_is_in_the_trail_once(cast: Cast, path: str) -> None:
    run, other = run_for(cast, "uma"), run_for(cast, "zoe")

    for asked in (run, run, other, run):  # as a programme polls
        answer = cast.bob.client.get(f"/api/v1/runs/{asked.pk}{path}")
        assert FACT["value"] in text_of(answer)

    assert [(actor, run_id) for actor, _, run_id in looks(cast)] == [
        (f"user:{cast.bob.user.pk}", str(one.pk)) for one in (run, other)
    ]


def test_api_says_nothing_of_what_is_no_outside_persons_own(cast: Cast) -> None:
    shared = run_for(cast, "uma", scope="global", namespace="global:shop")
    played = run_for(cast, f"ben@{cast.bob.user.pk}")

    for run in (shared, played):
        for path in PATHS:
            assert cast.bob.client.get(f"/api/v1/runs/{run.pk}{path}").status_code == 200

    assert looks(cast) == []


def test_programme_that_reads_its_own_run_looks_at_nobody(cast: Cast, api_key: Any) -> None:
    key = api_key(cast.bob)
    run = run_for(cast, "uma", api_key=key.key, started_by=None)

    answer = key.get(f"/api/v1/runs/{run.pk}")

    assert FACT["value"] in text_of(answer)
    assert looks(cast) == []


def streamed(cast: Cast, path: str, **more: Any) -> str:
    async def read() -> str:
        answer: Any = await client.get(path, **more)
        try:
            return b"".join([part async for part in answer.streaming_content]).decode()
        finally:
            await get_hub().close()

    client = AsyncClient()
    client.cookies = cast.bob.client.cookies
    return async_to_sync(read)()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("root", ["/runs/{}/events/", "/api/v1/runs/{}/events"])
def test_who_follows_it_live_is_in_the_trail_once_and_nobody_who_came_later(
    cast: Cast, settings: Any, root: str
) -> None:
    settings.REDIS_URL = ""  # rows alone
    run = run_for(cast, "uma")
    path = root.format(run.pk)

    later = streamed(cast, path, headers={"Last-Event-ID": "1"})
    assert ("run_finished" in later, FACT["value"] in later, looks(cast)) == (True, False, [])

    for _ in range(2):
        assert FACT["value"] in streamed(cast, path)
    assert [run_id for _, _, run_id in looks(cast)] == [str(run.pk)]


@pytest.mark.django_db(transaction=True)
def test_stream_of_ones_own_run_asks_the_trail_nothing(
    cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = ""
    run = run_for(cast, f"ben@{cast.bob.user.pk}")
    monkeypatch.setattr(audit, "is_recorded_for_run", None)  # whoever asks breaks

    assert FACT["value"] in streamed(cast, f"/runs/{run.pk}/events/")
