"""A run for somebody outside shows its programme's maker what was recalled of theirs, and the trail says so."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow, within
from tests.support.cast import Cast
from tests.workflows.views.conftest import text_of
from workflows.models import Run, RunEvent
from workflows.models.run import RunStatus


pytestmark = pytest.mark.django_db

FACT = {
    "id": "018f0000-0000-7000-8000-000000000001",
    "key": "k",
    "value": "Uma is allergic to walnuts.",
}


def run_for(cast: Cast, subject: str, scope: str = "user", namespace: str = "") -> Run:
    run = make_run(
        cast.bob,
        make_workflow(cast.bob),
        status=RunStatus.SUCCEEDED,
        finished_at=timezone.now(),
        subject=subject,
        subject_user=None,
    )
    told: dict[str, Any] = {
        "node": "n",
        "scope": scope,
        "namespace": namespace or f"user:{subject}",
        "entries": [FACT],
    }
    with within(cast.bob):
        RunEvent.objects.create(
            team_id=run.team_id, run=run, seq=1, name="memory_recalled", data=told
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
        assert "private, about uma; that you looked is in the trail" in one
        assert f"/memory/entries/{FACT['id']}/" not in one  # it would lead nowhere
    rows = looks(cast)
    assert [(actor, run_id) for actor, _, run_id in rows] == [
        (f"user:{cast.bob.user.pk}", str(run.pk))
    ] * 2  # once a page
    trail = text_of(cast.ada.client.get("/team/audit/"))
    assert "looked into private memory" in trail


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
