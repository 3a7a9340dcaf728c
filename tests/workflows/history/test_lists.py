"""Lists of runs stay quick however many runs there are: their parts use indexes, and counting stops."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast
from tests.workflows.history.made import make_old
from workflows import run_filters
from workflows.models import Run
from workflows.models.personal import match_own


pytestmark = pytest.mark.django_db


def test_each_part_of_own_runs_uses_an_index(cast: Cast):
    rows = Run.objects.unscoped().filter(match_own(cast.alice.principal)).order_by().values("pk")
    with tenant([cast.team_a.pk]), connection.cursor() as cursor:
        # A table with the same indexes but without partitions and policies, whose plan is simple.
        cursor.execute("create temp table workflows_run (like workflows_run including indexes)")
        cursor.execute("set local enable_seqscan = off")
        plan = rows.explain()

    for column in ("started_by_id = ", "subject_user_id = ", "api_key_id = ANY "):
        assert f"Index Cond: ({column}" in plan.partition("BitmapOr")[2], plan


def test_expiry_is_part_of_the_query_that_asks_for_it():
    query = """
        explain verbose select id from workflows_run
        where history_has_expired(status, is_counted, finished_at, null, null, 30, 90)"""
    with connection.cursor() as cursor:
        cursor.execute(query)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "finished_at" in plan
    assert "history_has_expired" not in plan  # which would be a call for each run


def test_api_stops_counting_but_clients_read_all(cast: Cast, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_filters, "COUNTED_RUNS", 2)
    workflow = make_workflow(cast.alice)
    ids = {make_run(cast.alice, workflow).pk for _ in range(5)}

    of_team = cast.ada.client.get("/api/v1/team-runs").json()
    read: list[Any] = []  # Any: JSON
    counts: list[int | None] = []
    cursor: str | None = ""
    while cursor is not None:
        page = cast.alice.client.get(f"/api/v1/runs?limit=1&cursor={cursor}").json()
        read, cursor = [*read, *page["items"]], page["next"]
        counts.append(page["count"])

    assert counts == [None, None, None, 5, 5]
    assert of_team["count"] is None
    assert {UUID(item["id"]) for item in read} == ids


def test_people_are_searched_in_all_runs(cast: Cast, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_filters, "SEARCHED_RUNS", 1)
    workflow = make_workflow(cast.alice)
    at_the_shop = make_old(cast.alice, workflow, 4, subject="Anna at the shop")
    by_id = make_old(cast.alice, workflow, 3, subject="anna")
    by_email = make_old(
        cast.alice, workflow, 2, subject=str(cast.bob.user.pk), subject_user=cast.bob.user
    )
    of_persona = make_old(cast.alice, workflow, 1, subject=f"ben@{cast.alice.user.pk}")

    assert list_matching(cast, person="ANNA") == [by_id.pk, at_the_shop.pk]
    assert list_matching(cast, person=cast.bob.user.email[:-2].upper()) == [by_email.pk]
    assert list_matching(cast, person=str(cast.bob.user.pk)) == [by_email.pk]
    assert list_matching(cast, person="ben") == [of_persona.pk]
    # The end of a test user's id is that of the member, which nobody sees.
    assert list_matching(cast, person=str(cast.alice.user.pk)[-6:]) == []
    assert list_matching(cast, person="anna", text="nowhere") == []


def test_very_many_external_users_are_searched_in_the_newest_runs(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run_filters, "SEARCHED_RUNS", 2)
    monkeypatch.setattr(run_filters, "MAX_EXTERNAL_USERS", 2)
    workflow = make_workflow(cast.alice)
    user = {"subject": str(cast.bob.user.pk), "subject_user": cast.bob.user}
    by_name = make_old(cast.alice, workflow, 5, **user)
    exact = make_old(cast.alice, workflow, 4, subject="Anna")
    make_old(cast.alice, workflow, 3, subject="Anna at the shop")
    newest = [make_old(cast.alice, workflow, days, subject=f"Anna {days}") for days in (1, 2)]

    assert list_matching(cast, person="Anna") == [*(run.pk for run in newest), exact.pk]
    assert list_matching(cast, person=cast.bob.user.email) == [by_name.pk]


def test_filter_by_user_is_exact_and_uses_indexes(cast: Cast):
    workflow = make_workflow(cast.alice)
    external = make_old(cast.alice, workflow, 2, subject="customer-17")
    make_old(cast.alice, workflow, 1, subject="customer-1")
    own = make_old(cast.alice, workflow, 1, subject_user=cast.alice.user)
    assert list_matching(cast, user="customer-17") == [external.pk]
    assert list_matching(cast, user=str(cast.alice.user.pk)) == [own.pk]

    query = run_filters.RunFilter(user="customer-17", children=True).apply(Run.objects.unscoped())
    with tenant([cast.team_a.pk]), connection.cursor() as cursor:
        # A table with the same indexes but without partitions and policies, whose plan is simple.
        cursor.execute("create temp table workflows_run (like workflows_run including indexes)")
        cursor.execute(
            """insert into workflows_run select (jsonb_populate_record(r, jsonb_build_object(
                'id', gen_random_uuid(), 'subject', 'customer-' || n))).*
            from public.workflows_run r, generate_series(1, 1000) n where r.id = %s""",
            [external.pk],
        )
        cursor.execute("analyze workflows_run")
        plan = query.filter(team_id=cast.team_a.pk).order_by().values("pk").explain()

    assert "Index Cond" in plan
    assert "((subject)::text = 'customer-17'::text)" in plan.partition("Index Cond")[2]


def list_matching(cast: Cast, **filters: Any) -> list[UUID]:  # Any: the values of the filter
    rows = Run.objects.visible_to(cast.alice.principal).order_by("-created_at", "-id")
    with tenant([cast.team_a.pk]):
        return [run.pk for run in run_filters.RunFilter(**filters).apply(rows)]
