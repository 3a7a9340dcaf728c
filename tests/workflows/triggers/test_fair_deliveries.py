"""Webhooks out are fair: a receiver that doesn't answer delays neither another team's messages nor another receiver's."""

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, connections

from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow
from tests.workflows.triggers.test_deliveries import end_run, list_all, subscribe_to
from workflows.models import Delivery, RunSubscription
from workflows.services.triggers import deliveries
from workflows.services.triggers.deliveries import (
    BACK_OFF,
    BATCH_SIZE,
    MAX_OF_RECEIVER,
    MAX_OF_TEAM,
    send_due_deliveries,
)
from workflows.services.triggers.periodic import DELIVERIES
from workflows.services.triggers.subscriptions import redeliver, switch_subscription


pytestmark = pytest.mark.django_db

HANGING, ANSWERING = "https://hanging.example.com/in", "https://answering.example.com/in"
SECONDS = 60.0  # in which nothing that works fails


@pytest.fixture
def published(bob):
    workflow = make_workflow(bob, "Echo")
    return workflow, make_version(bob, workflow)


@pytest.fixture
def foreign(carol):
    workflow = make_workflow(carol, "Foreign")
    return workflow, make_version(carol, workflow)


def add_messages(workflow, subscription, count, moment=None):
    moment = moment or datetime.now(UTC) - timedelta(minutes=5)
    with tenant([workflow.team_id]):
        return Delivery.objects.bulk_create(
            Delivery(
                team_id=workflow.team_id,
                subscription=subscription,
                workflow_id=workflow.pk,
                run_id=workflow.pk,
                event="succeeded",
                created_at=moment,
                next_at=moment + timedelta(seconds=number),
            )
            for number in range(count)
        )


def list_due(moment=None):
    with connection.cursor() as cursor:
        cursor.execute(deliveries._DUE, [moment, BATCH_SIZE])
        ids, _teams = cursor.fetchone()
    return ids or []


def read(subscription):
    with tenant([subscription.team_id]):
        return RunSubscription.objects.unscoped().get(pk=subscription.pk)


def test_teams_and_their_receivers_take_turns(bob, carol, published, foreign):
    workflow = published[0]
    first, second = (subscribe_to(bob, workflow, url)[0] for url in (HANGING, ANSWERING))
    many = add_messages(workflow, first, BATCH_SIZE + 10)
    later = datetime.now(UTC) - timedelta(seconds=1)
    [own] = add_messages(workflow, second, 1, later)
    others = add_messages(foreign[0], subscribe_to(carol, foreign[0])[0], 2, later)

    due = list_due(later + timedelta(minutes=1))

    assert due[:5] == [many[0].pk, others[0].pk, own.pk, others[1].pk, many[1].pk]
    assert len(due) == BATCH_SIZE


def test_workers_know_when_the_next_message_is_due(bob, published):
    workflow = published[0]
    subscription = subscribe_to(bob, workflow)[0]
    moment = datetime.now(UTC)
    add_messages(workflow, subscription, 2, moment + timedelta(hours=1))

    def read_next(**values):
        with tenant([workflow.team_id]):
            RunSubscription.objects.unscoped().filter(pk=subscription.pk).update(**values)
        with connection.cursor() as cursor:
            cursor.execute("select next_in from execution_due_deliveries(%s, 1)", [moment])
            return cursor.fetchone()[0]

    waiting = read_next(failures=1, retry_at=moment + timedelta(hours=2))
    with connection.cursor() as cursor:
        cursor.execute(DELIVERIES.due)
        is_due = cursor.fetchone()[0]

    assert (is_due, waiting, read_next(retry_at=None)) == (False, 7200, 3600)


@pytest.mark.django_db(transaction=True)
def test_receiver_that_hangs_delays_no_message_of_another_team_or_to_another_receiver(
    bob, carol, published, foreign, monkeypatch
):
    """The others' runs end while the receiver's share of requests hangs, after older messages that nobody answers."""
    workflow = published[0]
    add_messages(workflow, subscribe_to(bob, workflow, HANGING)[0], BATCH_SIZE + 10)
    other = make_workflow(bob, "Other")
    receivers = [(bob, (other, make_version(bob, other))), (carol, foreign)]
    for person, (told, _version) in receivers:
        subscribe_to(person, told, ANSWERING)
    arrived, is_waiting, hanging = threading.Semaphore(0), threading.Event(), Counter[str]()

    def post(message):
        if message.url == ANSWERING:
            arrived.release()
            return 200, ""
        if not is_waiting.is_set():
            is_waiting.set()
            for person, others in receivers:
                end_run(person, others)
            connections.close_all()
        hanging["now"] += 1
        hanging["most"] = max(hanging["most"], hanging["now"])
        hanging["delayed"] += not arrived.acquire(timeout=SECONDS)
        hanging["now"] -= 1
        arrived.release()
        return None, "timed out"

    monkeypatch.setattr(deliveries, "_post", post)

    assert send_due_deliveries() == 2

    assert hanging["delayed"] == 0
    assert hanging["most"] <= MAX_OF_RECEIVER
    assert [row.status for row in list_all(foreign[0])] == ["sent"]


@pytest.mark.django_db(transaction=True)
def test_team_with_many_receivers_that_hang_has_its_share_only(bob, published, monkeypatch):
    workflow = published[0]
    for number in range(MAX_OF_TEAM):
        receiver = subscribe_to(bob, workflow, f"{HANGING}/{number}")[0]
        add_messages(workflow, receiver, MAX_OF_RECEIVER)
    lock, hanging = threading.Lock(), Counter[str]()
    is_full = threading.Barrier(MAX_OF_TEAM)

    def post(_message):
        with lock:
            hanging["now"] += 1
            hanging["most"] = max(hanging["most"], hanging["now"])
        is_full.wait(SECONDS)  # until as many as may are there
        with lock:
            hanging["now"] -= 1
        is_full.wait(SECONDS)
        return 200, ""

    monkeypatch.setattr(deliveries, "_post", post)

    assert send_due_deliveries() == MAX_OF_TEAM * MAX_OF_RECEIVER
    assert hanging["most"] == MAX_OF_TEAM


def test_receiver_without_an_answer_is_left_alone_longer_each_time_and_gets_one_message_then(
    bob, published, monkeypatch
):
    workflow = published[0]
    receiver = subscribe_to(bob, workflow, HANGING)[0]
    add_messages(workflow, receiver, 5)
    sent = list[object]()
    answers: dict[str, deliveries.Result] = {"now": (None, "timed out")}

    def post(message):
        sent.append(message.delivery.pk)
        return answers["now"]

    monkeypatch.setattr(deliveries, "_post", post)
    moment = datetime.now(UTC)
    waits, counts = [], []
    for _time in range(len(BACK_OFF) + 1):
        sent.clear()
        send_due_deliveries(moment)
        counts.append(len(sent))
        retry_at = read(receiver).retry_at
        waits.append(retry_at - moment)
        assert list_due(retry_at - timedelta(seconds=1)) == []
        moment = retry_at
    answers["now"] = (200, "")
    sent.clear()

    assert send_due_deliveries(moment) == 5

    assert waits == [*BACK_OFF, BACK_OFF[-1]]
    assert counts == [MAX_OF_RECEIVER, 1, 1, 1, 1]
    assert (read(receiver).failures, read(receiver).retry_at) == (0, None)


@pytest.mark.parametrize(
    ("answer", "failures"),
    [((500, ""), 1), ((503, ""), 1), ((None, "refused"), 1), ((404, ""), 0), ((302, ""), 0)],
)
def test_only_a_receiver_with_a_fault_is_left_alone(bob, published, monkeypatch, answer, failures):
    receiver = subscribe_to(bob, published[0])[0]
    add_messages(published[0], receiver, 1)
    monkeypatch.setattr(deliveries, "_post", lambda _message: answer)

    assert send_due_deliveries() == 0

    assert read(receiver).failures == failures
    assert (read(receiver).retry_at is not None) is bool(failures)


@pytest.mark.parametrize("way", ["message again", "switched on"])
def test_person_who_sends_again_or_switches_on_need_not_wait(bob, published, monkeypatch, way):
    workflow = published[0]
    receiver = subscribe_to(bob, workflow)[0]
    [message] = add_messages(workflow, receiver, 1)
    with tenant([workflow.team_id]):
        RunSubscription.objects.unscoped().filter(pk=receiver.pk).update(
            failures=3, retry_at=datetime.now(UTC) + timedelta(hours=1)
        )
    monkeypatch.setattr(deliveries, "_post", lambda _message: (200, ""))
    before = send_due_deliveries()

    if way == "message again":
        redeliver(bob.principal, workflow=workflow, delivery=message)
    else:
        switch_subscription(
            bob.principal, workflow=workflow, subscription=read(receiver), is_on=True
        )

    assert (before, send_due_deliveries()) == (0, 1)
