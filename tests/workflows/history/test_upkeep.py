"""Runs lie in partitions of a week, and end with it unless they have to stay."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import ProgrammingError, connection, transaction
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_journal, make_message, make_run, make_workflow
from tests.support.cast import Cast
from tests.workflows.history.made import (
    id_of,
    left_of,
    make_old,
    make_week,
    partitions_of,
    settle,
    tables,
)
from workflows.execution.history import upkeep
from workflows.models import Message, Run, Task


pytestmark = pytest.mark.django_db

OLD = 50  # days: longer than runs are stored, shorter than failed ones are
DAYS_AGO = {days: timezone.now() - timedelta(days=days) for days in (10, OLD)}


def week_of(at: datetime) -> str:
    monday = at.astimezone(UTC) - timedelta(days=at.astimezone(UTC).weekday())
    return f"{monday:%Y%m%d}"


def tidy() -> Counter[str]:
    settle()
    return upkeep.tidy_history()


@pytest.fixture
def week() -> str:
    """The week of ``OLD`` days ago, whose partitions exist."""
    make_week(timezone.now() - timedelta(days=OLD))
    return week_of(timezone.now() - timedelta(days=OLD))


def test_rows_of_a_run_are_in_its_week_in_every_table(cast: Cast):
    run = make_run(cast.alice, make_workflow(cast.alice))
    make_journal(run)

    assert partitions_of(run) == {week_of(timezone.now())}


def test_run_of_no_week_is_stored_in_the_default_partition(cast: Cast):
    run = make_old(cast.alice, make_workflow(cast.alice), days=1_000)

    assert partitions_of(run) == {"kept"}


def test_week_that_comes_late_takes_its_runs_out_of_the_default_partition(cast: Cast):
    run = make_old(cast.alice, make_workflow(cast.alice), days=OLD)
    assert partitions_of(run) == {"kept"}

    make_week(timezone.now() - timedelta(days=OLD))

    assert partitions_of(run) == {week_of(timezone.now() - timedelta(days=OLD))}
    assert left_of(run)["workflows_runcommit"] == 1


def test_coming_weeks_are_created_once():
    later = timezone.now() + timedelta(days=21)

    assert (upkeep.add_weeks(later), upkeep.add_weeks(later)) == (3, 0)
    assert week_of(later + timedelta(weeks=2)) in {week.name for week in upkeep.list_weeks()}


def test_week_is_dropped_with_all_that_belongs_to_its_runs(cast: Cast, week: str):
    message = make_message(cast.alice, make_workflow(cast.alice, "Talk"))
    run = make_old(cast.alice, make_workflow(cast.alice), days=OLD)
    with tenant([cast.team_a.pk]):
        Message.objects.unscoped().filter(pk=message.pk).update(run=run)
        task = Task.objects.create(team_id=cast.team_a.pk, title="t", subject="s", run=run)
    assert partitions_of(run) == {week}

    counts = tidy()

    assert counts["weeks dropped"] == 1
    assert left_of(run) == {}
    assert week not in {each.name for each in upkeep.list_weeks()}
    with tenant([cast.team_a.pk]):
        rows = [
            Message.objects.unscoped().get(pk=message.pk),
            Task.objects.unscoped().get(pk=task.pk),
        ]
    assert [row.run_id for row in rows] == [None, None]


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "failed"},
        {"status": "paused", "finished_at": None},
        {"status": "queued", "finished_at": None},
        {"status": "running", "finished_at": None},
        {"finished_at": DAYS_AGO[10]},  # it was paused for weeks
        {"is_counted": False, "finished_at": DAYS_AGO[10]},
    ],
)
def test_run_that_must_stay_moves_when_its_week_is_dropped(cast: Cast, week: str, fields: Any):
    workflow = make_workflow(cast.alice)
    gone, stays = make_old(cast.alice, workflow, OLD), make_old(cast.alice, workflow, OLD, **fields)
    child = make_old(cast.alice, workflow, OLD, parent=stays, parent_key="k")
    before = left_of(stays)

    counts = tidy()

    assert (counts["weeks dropped"], counts["runs moved"]) == (1, 2)
    assert left_of(gone) == {}
    assert left_of(stays) == left_of(child) == before
    assert len(before) == 6
    assert partitions_of(stays) == partitions_of(child) == {"kept"}


def test_moved_run_is_deleted_when_its_own_days_are_over(cast: Cast, week: str):
    run = make_old(cast.alice, make_workflow(cast.alice), OLD, status="failed")
    tidy()
    with tenant([run.team_id]):
        Run.objects.unscoped().filter(pk=run.pk).update(
            finished_at=timezone.now() - timedelta(days=91)
        )

    assert tidy()["runs deleted"] == 1

    assert left_of(run) == {}


def test_workflow_decides_how_long_its_runs_are_stored(cast: Cast, week: str):
    longer, shorter = make_workflow(cast.alice, "Longer"), make_workflow(cast.alice, "Shorter")
    for_ever = make_workflow(cast.alice, "For ever")
    for workflow, days in ((longer, 365), (shorter, 7), (for_ever, 0)):
        workflow.keep_days = days
        with tenant([cast.team_a.pk]):
            workflow.save()
    stays = [make_old(cast.alice, longer, OLD), make_old(cast.alice, for_ever, OLD)]
    stays += [make_old(cast.alice, shorter, 3), make_old(cast.alice, shorter, 10, status="failed")]
    gone = [make_old(cast.alice, shorter, 10), make_old(cast.alice, shorter, OLD)]

    tidy()

    assert [bool(left_of(run)) for run in stays] == [True] * 4
    assert [left_of(run) for run in gone] == [{}, {}]


def test_week_with_many_runs_that_stay_is_not_dropped(cast: Cast, week: str, monkeypatch: Any):
    monkeypatch.setattr(upkeep, "MAX_MOVED", 1)
    workflow = make_workflow(cast.alice)
    stays = [make_old(cast.alice, workflow, OLD, status="failed") for _ in range(2)]
    gone = make_old(cast.alice, workflow, OLD)

    counts = tidy()

    assert (counts["weeks dropped"], counts["runs deleted"]) == (0, 1)
    assert left_of(gone) == {}
    assert [partitions_of(run) for run in stays] == [{week}] * 2


def test_children_end_with_their_parent_and_not_before(cast: Cast):
    workflow = make_workflow(cast.alice)
    parent = make_old(cast.alice, workflow, days=1_000)
    child = make_old(cast.alice, workflow, days=999, parent=parent, parent_key="k", status="failed")
    open_parent = make_old(cast.alice, workflow, days=1_000, status="paused", finished_at=None)
    needed = make_old(cast.alice, workflow, days=999, parent=open_parent, parent_key="k")

    tidy()

    assert left_of(parent) == left_of(child) == {}
    assert left_of(needed)
    assert left_of(open_parent)


def test_settings_may_keep_runs_for_ever(cast: Cast, week: str, settings: Any):
    settings.RUN_KEEP_DAYS = 0
    run = make_old(cast.alice, make_workflow(cast.alice), OLD)

    assert tidy()["runs deleted"] == 0

    assert left_of(run)


def test_other_teams_are_invisible_after_upkeep(cast: Cast, week: str):
    make_old(cast.alice, make_workflow(cast.alice), OLD, status="failed")

    tidy()

    assert Run.objects.unscoped().count() == 0


@pytest.mark.parametrize("end", ["kept", "week"])
def test_application_reaches_no_partition_directly(cast: Cast, end: str):
    make_journal(make_run(cast.alice, make_workflow(cast.alice)))
    end = week_of(timezone.now()) if end == "week" else end

    for table, _key in tables():
        for statement in ("select 1 from {}", "delete from {}", "insert into {} select * from {}"):
            with (
                pytest.raises(ProgrammingError, match="permission denied"),
                tenant([cast.team_a.pk]),
                connection.cursor() as cursor,
            ):
                cursor.execute(statement.replace("{}", f"{table}_{end}"))


def test_partitions_have_policies_of_their_own():
    query = """
        select c.relname from pg_class c join pg_inherits i on i.inhrelid = c.oid
        where i.inhparent = any (select name::regclass from history_tables())
          and not (c.relrowsecurity and c.relforcerowsecurity
                   and exists (select from pg_policy p where p.polrelid = c.oid))"""
    upkeep.add_weeks(timezone.now() + timedelta(days=100))

    with connection.cursor() as cursor:
        cursor.execute(query)
        assert cursor.fetchall() == []


def test_event_in_a_partition_is_never_changed(cast: Cast):
    run = make_run(cast.alice, make_workflow(cast.alice))
    make_journal(run)

    with pytest.raises(ProgrammingError, match="permission denied"), tenant([run.team_id]):
        run.commits.update(attempt=2)


def test_id_of_a_time_is_the_least_one():
    at = timezone.now().replace(microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute("select history_first_id(%s)", [at])
        (first,) = cursor.fetchone()

    assert id_of(at - timedelta(milliseconds=1)) < first < id_of(at)


def test_lock_that_is_not_free_ends_the_attempt(
    cast: Cast, transactional_db: None, monkeypatch: Any
):
    monkeypatch.setattr(upkeep, "LOCK_TRIES", 1)
    make_week(timezone.now() - timedelta(days=OLD))
    name = week_of(timezone.now() - timedelta(days=OLD))
    run = make_old(cast.alice, make_workflow(cast.alice), OLD)
    other = connection.copy()
    try:
        with transaction.atomic(), tenant([run.team_id]):
            Run.objects.unscoped().filter(pk=run.pk).update(error="held")
            counts = _tidy_with(other, monkeypatch)
        assert counts["weeks dropped"] == 0
        assert left_of(run)
        assert upkeep.tidy_history()["weeks dropped"] == 1
        assert name not in {week.name for week in upkeep.list_weeks()}
    finally:
        other.close()


def _tidy_with(other: Any, monkeypatch: Any) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(upkeep, "connection", other)
        patched.setattr(upkeep, "count_all_teams", lambda: 0)
        return upkeep.tidy_history()
