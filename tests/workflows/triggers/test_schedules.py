"""Schedules: each due time starts one run, whoever asks, and what keeps it from starting is visible."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connections

from accounts.services import revoke_key
from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow
from tests.workflows.triggers.documents import CLOCK, HOOK, build_source, load_triggers
from workflows.models import Run, Trigger
from workflows.services.catalog import importing
from workflows.services.editor.drafts import archive, unarchive
from workflows.services.triggers.activation import switch_trigger
from workflows.services.triggers.schedules import start_due_run, start_due_runs


pytestmark = pytest.mark.django_db

BEFORE = datetime(2031, 3, 3, 7, 0, tzinfo=UTC)
DUE = datetime(2031, 3, 3, 8, 0, tzinfo=UTC)  # 9:00 in Berlin


@pytest.fixture
def morning(bob, publish):
    """A workflow that runs every morning at nine in Berlin, published an hour before."""
    with time_machine.travel(BEFORE, tick=False):
        workflow, triggers = publish(bob, CLOCK)
    return workflow, triggers["t1"]


def start_at(moment):
    with time_machine.travel(moment, tick=False):
        return start_due_runs(moment)


def list_runs(workflow):
    with tenant([workflow.team_id]):
        return list(Run.objects.unscoped().filter(workflow=workflow).order_by("id"))


def test_due_time_starts_one_run_of_the_service_account(bob, morning):
    workflow, _trigger = morning

    started = [start_at(DUE - timedelta(seconds=1)), start_at(DUE), start_at(DUE)]

    (run,) = list_runs(workflow)
    assert started == [0, 1, 0]
    assert (run.channel, run.started_by, run.system["scheduled_at"]) == (
        "schedule",
        None,
        "2031-03-03T09:00:00+01:00",
    )
    after = load_triggers(bob, workflow)["t1"]
    assert (after.last_run_id, after.next_at) == (run.pk, DUE + timedelta(days=1))


def test_time_of_day_survives_the_change_of_the_clocks(bob, morning):
    workflow, _trigger = morning
    spring = datetime(2031, 3, 29, 12, 0, tzinfo=UTC)
    start_at(spring)

    start_at(datetime(2031, 3, 30, 7, 0, tzinfo=UTC))

    assert list_runs(workflow)[-1].system["scheduled_at"] == "2031-03-30T09:00:00+02:00"


def test_missed_times_lead_to_one_run(bob, morning):
    workflow, _trigger = morning

    start_at(DUE + timedelta(days=3, hours=2))

    assert len(list_runs(workflow)) == 1
    assert load_triggers(bob, workflow)["t1"].next_at == DUE + timedelta(days=4)


def test_missed_times_are_skipped_where_the_node_says_so(bob, publish):
    with time_machine.travel(BEFORE, tick=False):
        workflow, _triggers = publish(bob, {**CLOCK, "missed_runs": "skip"})

    late = start_at(DUE + timedelta(minutes=6))
    in_time = start_at(DUE + timedelta(days=1, minutes=4))

    assert (late, in_time, len(list_runs(workflow))) == (0, 1, 1)


def test_schedule_that_is_switched_off_stops_and_goes_on(bob, morning):
    _workflow, trigger = morning
    switch_trigger(bob.principal, trigger=trigger, is_on=False)
    off = start_at(DUE)

    with time_machine.travel(DUE + timedelta(hours=1), tick=False):
        switch_trigger(bob.principal, trigger=trigger, is_on=True)

    assert (off, start_at(DUE + timedelta(hours=2)), start_at(DUE + timedelta(days=1))) == (0, 0, 1)


def test_schedule_stops_with_its_workflow_and_goes_on_with_it(alice, publish):
    with time_machine.travel(BEFORE, tick=False):
        workflow, _triggers = publish(alice, CLOCK)
        archive(alice.principal, workflow=workflow)
    archived = start_at(DUE)
    with time_machine.travel(DUE + timedelta(hours=1), tick=False):
        workflow.archived_at = BEFORE
        unarchive(alice.principal, workflow=workflow)

    assert (archived, start_at(DUE + timedelta(hours=2)), start_at(DUE + timedelta(days=1))) == (
        0,
        0,
        1,
    )


def test_trigger_whose_node_is_gone_stops(bob, morning):
    workflow, _trigger = morning
    importing.replace_from_document(bob.principal, workflow=workflow, source=build_source(HOOK))
    with time_machine.travel(BEFORE, tick=False):
        make_version(bob, workflow)

    triggers = load_triggers(bob, workflow)

    assert start_at(DUE) == 0
    assert {row.kind: row.is_published for row in triggers.values()} == {"trigger-webhook": True}


def test_publishing_again_keeps_address_switch_and_due_time(bob, publish):
    with time_machine.travel(BEFORE, tick=False):
        workflow, before = publish(bob, HOOK, CLOCK)
    switch_trigger(bob.principal, trigger=before["t1"], is_on=False)
    importing.replace_from_document(
        bob.principal, workflow=workflow, source=build_source({**HOOK, "title": "New"}, CLOCK)
    )
    with time_machine.travel(DUE + timedelta(minutes=1), tick=False):
        make_version(bob, workflow)

    after = load_triggers(bob, workflow)

    assert (after["t1"].token_hash, after["t1"].is_on) == (before["t1"].token_hash, False)
    assert (after["t1"].title, after["t2"].next_at) == ("New", DUE)
    assert start_at(DUE + timedelta(minutes=2)) == 1


def test_what_keeps_a_run_from_starting_is_noted_and_the_schedule_goes_on(alice, publish):
    with time_machine.travel(BEFORE, tick=False):
        workflow, triggers = publish(alice, CLOCK)
    revoke_key(alice.principal, key_id=triggers["t1"].api_key_id)

    started = start_at(DUE)

    trigger = load_triggers(alice, workflow)["t1"]
    assert (started, "revoked" in trigger.error) == (0, True)
    assert trigger.next_at == DUE + timedelta(days=1)


def test_schedules_of_all_teams_are_started(bob, carol):
    with time_machine.travel(BEFORE, tick=False):
        for person in (bob, carol):
            workflow = make_workflow(person, "Morning", build_source(CLOCK))
            make_version(person, workflow)

    assert start_at(DUE) == 2


@pytest.mark.django_db(transaction=True)
def test_many_workers_at_once_start_a_due_time_once(bob, publish):
    with time_machine.travel(BEFORE, tick=False):
        workflow, triggers = publish(bob, CLOCK)
    trigger = triggers["t1"]

    def start(_number):
        try:
            return start_due_run(trigger.team_id, trigger.pk, DUE)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(start, range(16)))

    assert sum(run is not None for run in results) == 1
    assert len(list_runs(workflow)) == 1


@pytest.mark.django_db(transaction=True)
def test_worker_that_dies_before_its_commit_leaves_the_time_due(bob, publish, monkeypatch):
    """The run and the next time are one transaction: what is rolled back is started by the next worker."""
    with time_machine.travel(BEFORE, tick=False):
        workflow, triggers = publish(bob, CLOCK)

    class Died(BaseException):
        pass

    def die(*_args, **_kwargs):
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(Trigger, "save", die)
        with pytest.raises(Died):
            start_due_run(workflow.team_id, triggers["t1"].pk, DUE)

    assert list_runs(workflow) == []
    assert start_due_runs(DUE) == 1
    assert len(list_runs(workflow)) == 1
