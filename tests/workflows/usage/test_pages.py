"""The page of usage, its CSV and its API."""

import csv
import io

import pytest

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import make_workflow
from tests.support.cast import Cast
from tests.workflows.usage.test_counting import add_step, make_ended
from workflows.services.usage.export import _write_cell


pytestmark = pytest.mark.django_db

PERIOD = "since=2026-03-01&until=2026-03-03"


@pytest.fixture
def used(cast: Cast) -> Cast:
    workflow = make_workflow(cast.alice, "Sorter")
    run = make_ended(cast.alice, workflow)
    add_step(
        run,
        prompt_tokens=100,
        completion_tokens=20,
        outputs={"usage": {"provider": "acme", "cost": 0.25}},
    )
    make_ended(cast.bob, workflow, status="failed")
    make_ended(cast.bob, workflow, subject="zoe-external", started_by=None)
    return cast


def test_page_shows_totals_charts_and_breakdowns(used: Cast) -> None:
    page = used.alice.client.get(f"/usage/?{PERIOD}").content.decode()
    people = used.alice.client.get(f"/usage/?{PERIOD}&by=person").content.decode()
    models = used.alice.client.get(f"/usage/?{PERIOD}&by=model").content.decode()

    assert page.count('role="img"') == 4
    assert "Runs, 3 days: 3. Highest on Mar 2, 2026: 3." in page
    assert "$0.2500" in page
    assert "Sorter" in page
    assert "Bob" in people
    assert "zoe-external" not in people
    assert "External user " in people
    assert "acme / big" in models


def test_filter_by_a_hidden_person_uses_the_code(used: Cast) -> None:
    answer = used.alice.client.get(f"/api/v1/usage?{PERIOD}&by=person").json()
    hidden = next(item for item in answer["items"] if item["id"].startswith("~"))

    filtered = used.alice.client.get(f"/api/v1/usage?{PERIOD}&person={hidden['id']}").json()
    page = used.alice.client.get(f"/usage/?{PERIOD}&person={hidden['id']}").content.decode()

    assert filtered["total"]["count"] == 1
    assert hidden["name"] in page
    assert "zoe-external" not in page


def test_api_reports_days_and_rows(used: Cast) -> None:
    answer = used.alice.client.get(f"/api/v1/usage?{PERIOD}&by=model").json()

    assert [day["count"] for day in answer["days"]] == [0, 3, 0]
    assert answer["total"]["error_rate"] == pytest.approx(1 / 3)
    assert [(row["id"], row["calls"], row["cost"]) for row in answer["items"]] == [
        ("acme/big", 1, 0.25)
    ]


@pytest.mark.parametrize("url", ["/usage/export.csv", "/api/v1/usage.csv"])
def test_export_of_usage_is_in_the_audit_trail(used: Cast, url: str) -> None:
    answer = used.alice.client.get(f"{url}?{PERIOD}&by=workflow")

    with tenant([used.team_a.pk]):
        entry = AuditEntry.objects.unscoped().get(action="usage.exported")
    assert answer.status_code == 200
    assert (entry.actor, entry.subject) == (
        used.alice.principal.actor,
        f"team:{used.team_a.pk}",
    )
    assert entry.detail["by"] == "workflow"


def test_channels_are_named_filtered_and_exported(used: Cast) -> None:
    make_ended(used.alice, make_workflow(used.alice), channel="schedule")

    page = used.alice.client.get(f"/usage/?{PERIOD}&by=channel").content.decode()
    filtered = used.alice.client.get(f"/usage/?{PERIOD}&channel=-").content.decode()
    answer = used.alice.client.get(f"/api/v1/usage?{PERIOD}&by=channel&channel=schedule").json()
    text = used.alice.client.get(f"/api/v1/usage.csv?{PERIOD}&by=channel").content.decode()

    assert "Schedule" in page
    assert "Channel: Not recorded" in filtered
    assert [(row["id"], row["name"], row["count"]) for row in answer["items"]] == [
        ("schedule", "Schedule", 1)
    ]
    assert answer["total"]["count"] == 1
    assert [(row["channel"], row["runs"]) for row in csv.DictReader(io.StringIO(text))] == [
        ("Not recorded", "3"),
        ("Schedule", "1"),
    ]


def test_members_see_the_channels_of_their_own_runs(used: Cast) -> None:
    make_ended(used.alice, make_workflow(used.alice), channel="schedule")

    answer = used.bob.client.get(f"/api/v1/usage?{PERIOD}&by=channel").json()

    assert [row["id"] for row in answer["items"]] == [""]


@pytest.mark.parametrize(
    "name",
    ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\u3000=1", "\t=1", "\n=1", "＝1+1", "＠SUM(A1)"],
)
def test_cell_that_a_spreadsheet_would_compute_is_text(name: str) -> None:
    assert _write_cell(name) == f"'{name}"


@pytest.mark.parametrize("name", ["Sorter", "a=b", "1-2", "2026-03-02", "'=1"])
def test_other_cell_stays_as_it_is(name: str) -> None:
    assert _write_cell(name) == name


def test_csv_has_a_row_a_day_and_escapes_formulas(used: Cast) -> None:
    make_ended(used.alice, make_workflow(used.alice, "=1+1"))

    text = used.alice.client.get(f"/usage/export.csv?{PERIOD}&by=workflow").content.decode()
    api_text = used.alice.client.get(f"/api/v1/usage.csv?{PERIOD}&by=workflow").content.decode()

    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["day"], row["workflow"], row["runs"]) for row in rows] == [
        ("2026-03-02", "'=1+1", "1"),
        ("2026-03-02", "Sorter", "3"),
    ]
    assert api_text == text


def test_member_sees_own_usage_only(used: Cast) -> None:
    page = used.bob.client.get(f"/usage/?{PERIOD}").content.decode()
    answer = used.vic.client.get(f"/api/v1/usage?{PERIOD}").json()

    assert "of your own runs" in page
    assert "Only my runs" not in page
    assert answer["items"] == []


@pytest.mark.parametrize(
    "query", ["days=x", "since=2026-02-31", "workflow=no&key=-&person=&model=a", "days=999999999"]
)
def test_invalid_filters_are_ignored(used: Cast, query: str) -> None:
    assert used.alice.client.get(f"/usage/?{query}").status_code == 200
