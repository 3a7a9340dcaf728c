"""What stored runs need on disk, for admins, and how long a workflow stores them."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.errors import NotAllowed
from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from tests.workflows.history.made import make_old
from workflows.errors import InvalidValue
from workflows.models import Step, Workflow
from workflows.services.runs.storage import change_days, get_days, list_storage


pytestmark = pytest.mark.django_db


def add_step(run: Any, text: str) -> None:
    with tenant([run.team_id]):
        Step.objects.create(
            team_id=run.team_id, run=run, node_key="big", kind="code", status="succeeded", outputs={"text": text}
        )  # fmt: skip


def test_workflows_are_listed_by_their_bytes(cast: Cast):
    small, large = make_workflow(cast.alice, "Small"), make_workflow(cast.alice, "Large")
    for _ in range(3):
        make_old(cast.alice, small, 1)
    # Random characters don't compress to less than half.
    add_step(make_old(cast.alice, large, 2), "".join(map(chr, range(256, 30_256))))

    rows = list_storage(cast.alice.principal, cast.team_a.pk)

    assert [(row.workflow.name, row.run_count) for row in rows] == [("Large", 1), ("Small", 3)]
    assert rows[0].size > 20_000 > rows[1].size > 3_000
    assert rows[1].bytes_per_run * 3 == pytest.approx(rows[1].size, abs=3)


def test_large_values_are_stored_compressed(cast: Cast):
    run = make_old(cast.alice, make_workflow(cast.alice), 1)
    add_step(run, "the same words again " * 50_000)

    (row,) = list_storage(cast.alice.principal, cast.team_a.pk)

    assert row.size < 30_000


def test_members_and_other_teams_do_not_see_storage(cast: Cast):
    make_old(cast.alice, make_workflow(cast.alice), 1)

    for person in (cast.bob, cast.vic, cast.carol):
        with pytest.raises(NotAllowed):
            list_storage(person.principal, cast.team_a.pk)
    assert list_storage(cast.carol.principal, cast.team_b.pk) == []


@pytest.mark.parametrize(
    ("days", "failed_days", "expected"),
    [
        (None, None, (30, 90)),
        (7, None, (7, 90)),
        (365, None, (365, 365)),
        (7, 7, (7, 7)),
        (0, None, (0, 0)),
        (7, 0, (7, 0)),
    ],
)
def test_days_of_a_workflow(cast: Cast, days: int | None, failed_days: int | None, expected: Any):
    workflow = make_workflow(cast.alice)

    change_days(cast.bob.principal, workflow, days=days, failed_days=failed_days)

    with tenant([cast.team_a.pk]):
        assert get_days(Workflow.objects.unscoped().get(pk=workflow.pk)) == expected


def test_only_editors_change_the_days(cast: Cast):
    workflow = make_workflow(cast.alice)

    for person in (cast.vic, cast.carol):
        with pytest.raises(NotAllowed):
            change_days(person.principal, workflow, days=1, failed_days=1)
    with pytest.raises(InvalidValue):
        change_days(cast.bob.principal, workflow, days=30_001, failed_days=None)


@pytest.mark.parametrize(
    ("days", "failed_days", "advice"),
    [(7, 3, "at least 7"), (None, 29, "at least 30"), (0, 365, "kept forever")],
)
def test_failed_runs_with_fewer_days_than_the_others_are_refused(
    cast: Cast, client: Client, days: int | None, failed_days: int, advice: str
):
    workflow = make_workflow(cast.alice)
    make_old(cast.alice, workflow, 1)
    client.force_login(cast.alice.user)

    answer = client.put(
        f"/api/v1/workflows/{workflow.pk}/retention",
        {"keep_days": days, "keep_failed_days": failed_days},
        content_type="application/json",
    )
    page = client.post(
        reverse("workflows:change_retention", args=[workflow.pk]),
        {"keep_days": "" if days is None else days, "keep_failed_days": failed_days},
        follow=True,
    )

    (problem,) = answer.json()["error"]["problems"]
    assert (answer.status_code, problem["field"]) == (422, "keep_failed_days")
    assert advice in problem["message"]
    assert "Keep failed runs (days): enter 0" in page.content.decode()
    with tenant([cast.team_a.pk]):
        workflow.refresh_from_db()
    assert (workflow.keep_days, workflow.keep_failed_days) == (None, None)


def test_page_shows_and_changes_the_days(cast: Cast, client: Client):
    workflow = make_workflow(cast.alice, "Measured")
    make_old(cast.alice, workflow, 1)
    client.force_login(cast.alice.user)
    page, change = (
        reverse("workflows:storage"),
        reverse("workflows:change_retention", args=[workflow.pk]),
    )
    html = client.get(page).content.decode()
    assert "The team has 1 stored run" in html
    assert "30 days" in html

    saved = client.post(change, {"keep_days": "12", "keep_failed_days": ""}, follow=True)
    refused = client.post(change, {"keep_days": "many"}, follow=True)

    assert "12 days" in saved.content.decode()
    assert "Enter a whole number." in refused.content.decode()
    with tenant([cast.team_a.pk]):
        workflow.refresh_from_db()
    assert (workflow.keep_days, workflow.keep_failed_days) == (12, None)


def test_api_lists_storage_and_changes_the_days(cast: Cast, client: Client):
    workflow = make_workflow(cast.alice, "Measured")
    make_old(cast.alice, workflow, 1)
    client.force_login(cast.alice.user)

    (row,) = client.get("/api/v1/storage").json()["items"]
    url = f"/api/v1/workflows/{workflow.pk}/retention"
    answers = [
        client.put(url, body, content_type="application/json")
        for body in ({"keep_days": 120}, {"keep_days": -1})
    ]

    assert (row["name"], row["runs"], row["keep_days"]) == ("Measured", 1, 30)
    assert [answer.status_code for answer in answers] == [200, 422]
    assert answers[0].json() == {"keep_days": 120, "keep_failed_days": 120}


def test_command_prints_weeks_and_workflows(cast: Cast):
    make_old(cast.alice, make_workflow(cast.alice, "Measured"), 0)
    printed, text = StringIO(), StringIO()

    call_command("storage", json=True, stdout=printed)
    call_command("storage", stdout=text)

    report = json.loads(printed.getvalue())
    assert [(row["name"], row["runs"]) for row in report["workflows"]] == [("Measured", 1)]
    assert all(week["bytes"] > 0 for week in report["weeks"])
    assert f"{cast.team_a.name}: Measured" in text.getvalue()
