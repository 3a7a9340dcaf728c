"""Webhooks out: who is told of which ends of runs, what they get, and what happens when they don't answer."""

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.db import connection, connections
from django.urls import reverse

from accounts.errors import NotAllowed
from accounts.tenancy import tenant
from config.net import allow as allow_module
from config.net import clients
from tests.factories.workflows import make_run, make_version, make_workflow
from tests.fakes.serving import serving
from workflows.errors import InvalidValue
from workflows.models import Delivery, Run, RunSubscription
from workflows.models.run import RunStatus
from workflows.services.triggers import deliveries
from workflows.services.triggers.deliveries import (
    WAITS,
    delete_old_deliveries,
    send_due_deliveries,
)
from workflows.services.triggers.periodic import DELIVERIES, SCHEDULES
from workflows.services.triggers.subscriptions import (
    MAX_SUBSCRIPTIONS,
    list_subscriptions,
    redeliver,
    subscribe,
    switch_subscription,
    unsubscribe,
)


pytestmark = pytest.mark.django_db


class Receiver:
    """A server on this machine that notes what it gets, and answers with the status that the test wants."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((dict(self.headers), body))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/in"


@pytest.fixture
def receiver(monkeypatch):
    made = Receiver()
    allowed = allow_module.parse_allowed([f"127.0.0.1:{made.server.server_port}"])
    monkeypatch.setattr(clients, "_load_allow_list", lambda: allowed)
    with serving(made.server):
        yield made


@pytest.fixture
def published(bob):
    workflow = make_workflow(bob, "Echo")
    return workflow, make_version(bob, workflow)


def end(run, status="succeeded", **fields):
    with tenant([run.team_id]):
        now = datetime.now(UTC)
        Run.objects.unscoped().filter(pk=run.pk).update(status=status, finished_at=now, **fields)


def end_run(person, published, status="succeeded", *, version=True, outputs=None, **fields):
    workflow, newest = published
    run = make_run(person, workflow, version=newest if version else None, **fields)
    end(run, status, outputs=outputs)
    return run


def list_all(workflow):
    with tenant([workflow.team_id]):
        return list(Delivery.objects.unscoped().order_by("created_at", "id"))


def subscribe_to(person, workflow, url="https://example.com/in", events=("succeeded", "failed")):
    return subscribe(person.principal, workflow=workflow, url=url, events=events)


@pytest.mark.parametrize(
    ("status", "event"),
    [
        ("succeeded", ["succeeded"]),
        (RunStatus.PARTIAL, ["succeeded"]),
        ("failed", ["failed"]),
        ("paused", []),
        ("stopped", []),
    ],
)
def test_end_of_a_run_adds_a_message_for_who_wants_it(bob, published, status, event):
    subscribe_to(bob, published[0])

    run = end_run(bob, published, status)

    assert [row.event for row in list_all(published[0])] == event
    assert {row.run_id for row in list_all(published[0])} <= {run.pk}


def test_run_that_is_rolled_back_leaves_no_message(bob, published):
    subscribe_to(bob, published[0])

    class Undone(Exception):
        pass

    def end_and_undo():
        with tenant([published[0].team_id]):
            end_run(bob, published)
            raise Undone

    with pytest.raises(Undone):
        end_and_undo()

    assert list_all(published[0]) == []


def test_runs_of_the_draft_and_of_other_workflows_are_not_told(bob, published):
    subscribe_to(bob, published[0])
    other = make_workflow(bob, "Other")

    end_run(bob, published, version=False)
    end_run(bob, (other, make_version(bob, other)))

    assert list_all(published[0]) == []


def test_subscription_of_the_team_hears_of_all_its_workflows(alice, carol, published):
    subscribe(
        alice.principal,
        workflow=published[0],
        url="https://example.com/",
        events=["succeeded"],
        is_for_team=True,
    )
    other, foreign = make_workflow(alice, "Other"), make_workflow(carol, "Foreign")
    for person, workflow in ((alice, other), (carol, foreign)):
        end_run(person, (workflow, make_version(person, workflow)))

    assert [row.workflow_id for row in list_all(published[0])] == [other.pk]


def test_editor_cannot_subscribe_to_all_workflows(bob, published):
    with pytest.raises(NotAllowed):
        subscribe(
            bob.principal,
            workflow=published[0],
            url="https://example.com/",
            events=["failed"],
            is_for_team=True,
        )


def test_turned_off_subscription_hears_nothing(bob, published):
    row, _secret = subscribe_to(bob, published[0])
    switch_subscription(bob.principal, workflow=published[0], subscription=row, is_on=False)

    end_run(bob, published)

    assert list_all(published[0]) == []


@pytest.mark.parametrize("url", ["", "ftp://example.com", "example.com", "https://a:b@example.com"])
def test_address_that_is_none_is_refused(bob, published, url):
    with pytest.raises(InvalidValue):
        subscribe_to(bob, published[0], url)


def test_message_is_signed_and_arrives_once(bob, published, receiver):
    _row, secret = subscribe_to(bob, published[0], receiver.url)
    run = end_run(bob, published)

    sent = [send_due_deliveries(), send_due_deliveries()]

    ((headers, body),) = receiver.requests
    signed = f"{headers['X-Webhook-Timestamp']}.".encode() + body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    (delivery,) = list_all(published[0])
    assert (sent, delivery.status, delivery.answer_status) == ([1, 0], "sent", 200)
    assert headers["X-Webhook-Signature"] == f"sha256={digest}"
    assert headers["X-Webhook-Id"] == str(delivery.pk)
    message = json.loads(body)
    assert (message["event"], message["run_id"]) == ("run.succeeded", str(run.pk))
    assert message["id"] == str(delivery.pk)


def test_outputs_of_a_person_stay_theirs_and_those_of_programs_are_sent(
    bob, published, receiver, api_key
):
    subscribe_to(bob, published[0], receiver.url)
    end_run(bob, published, outputs={"text": "of bob"})
    end_run(bob, published, outputs={"text": "of a program"}, started_by=None, subject="program")

    send_due_deliveries()

    sent = [json.loads(body)["run"].get("outputs") for _headers, body in receiver.requests]
    assert sorted(map(str, sent)) == ["None", "{'text': 'of a program'}"]


def test_failures_are_repeated_with_growing_waits_for_about_a_day(bob, published, receiver):
    receiver.status = 500
    subscribe_to(bob, published[0], receiver.url)
    end_run(bob, published)
    moment = datetime.now(UTC) + timedelta(seconds=1)

    waits = []
    for _attempt in range(len(WAITS) + 1):
        send_due_deliveries(moment)
        (delivery,) = list_all(published[0])
        if delivery.next_at is not None:
            waits.append(delivery.next_at - moment)
            assert send_due_deliveries(delivery.next_at - timedelta(seconds=1)) == 0
            moment = delivery.next_at

    assert waits == list(WAITS)
    assert timedelta(hours=20) < sum(waits, timedelta()) < timedelta(hours=28)
    assert (delivery.status, delivery.attempts) == ("given_up", len(WAITS) + 1)
    assert len(receiver.requests) == len(WAITS) + 1
    assert len({headers["X-Webhook-Id"] for headers, _body in receiver.requests}) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://10.0.0.1/",
    ],
)
def test_internal_addresses_are_never_called(bob, published, url):
    subscribe_to(bob, published[0], url)
    end_run(bob, published)

    assert send_due_deliveries() == 0

    (delivery,) = list_all(published[0])
    assert (delivery.status, delivery.answer_status, delivery.error != "") == (
        "pending",
        None,
        True,
    )


def test_redirect_is_no_success_and_is_not_followed(bob, published, receiver):
    receiver.status = 302
    subscribe_to(bob, published[0], receiver.url)
    end_run(bob, published)

    assert send_due_deliveries() == 0
    assert len(receiver.requests) == 1


def test_message_is_sent_again_on_request(bob, published, receiver):
    subscribe_to(bob, published[0], receiver.url)
    end_run(bob, published)
    send_due_deliveries()

    redeliver(bob.principal, workflow=published[0], delivery=list_all(published[0])[0])

    assert send_due_deliveries() == 1
    assert len({headers["X-Webhook-Id"] for headers, _body in receiver.requests}) == 1


def test_message_of_a_worker_that_died_is_sent_by_the_next_one(
    bob, published, receiver, monkeypatch
):
    """A claimed message comes back after the lease, unlike one that somebody is sending now."""
    subscribe_to(bob, published[0], receiver.url)
    end_run(bob, published)
    module = "workflows.services.triggers.deliveries"

    class Died(BaseException):
        pass

    def die(_message):
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr(f"{module}._post", die)
        with pytest.raises(Died):
            send_due_deliveries()

    soon = datetime.now(UTC) + timedelta(seconds=60)
    assert [send_due_deliveries(soon), send_due_deliveries(soon + timedelta(seconds=90))] == [0, 1]


@pytest.mark.parametrize("work", [SCHEDULES, DELIVERIES], ids=lambda work: work.name)
def test_workers_ask_whether_something_is_due(bob, published, work):
    def ask():
        with connection.cursor() as cursor:
            cursor.execute(work.due)
            return cursor.fetchone()

    before = ask()
    subscribe_to(bob, published[0])
    end_run(bob, published)

    assert before == (False, None)
    assert ask()[0] is (work is DELIVERIES)


def test_old_messages_are_deleted(bob, published):
    subscribe_to(bob, published[0])
    for days in (29, 31):
        end_run(bob, published)
        (newest,) = [row for row in list_all(published[0]) if row.attempts == 0]
        with tenant([newest.team_id]):
            Delivery.objects.unscoped().filter(pk=newest.pk).update(
                created_at=datetime.now(UTC) - timedelta(days=days), attempts=days
            )

    assert delete_old_deliveries() == 1
    assert [row.attempts for row in list_all(published[0])] == [29]


def test_pages_add_show_and_delete_an_address(bob, published):
    workflow = published[0]
    url = reverse("workflows:ended_runs", args=[workflow.pk])

    added = bob.client.post(url, {"url": "https://example.com/told", "events": ["failed"]})
    end_run(bob, published, "failed")
    with tenant([workflow.team_id]):
        row = RunSubscription.objects.unscoped().get()
    log = reverse("workflows:ended_runs_log", args=[workflow.pk, row.pk])

    assert b"whs_" in added.content
    assert b"whs_" not in bob.client.get(url).content
    assert b"Failed" in bob.client.get(log).content
    assert bob.client.post(url, {"url": "x", "events": ["failed"]}).status_code == 422
    unsubscribe(bob.principal, workflow=workflow, subscription=row)
    with tenant([workflow.team_id]):
        assert list(list_subscriptions(bob.principal, workflow)) == []


def test_program_subscribes_reads_the_log_and_sends_again(bob, published, api_key):
    program = api_key(bob, scopes={"workflows:read", "workflows:write"})
    address = f"/api/v1/workflows/{published[0].pk}/run-subscriptions"

    def send(method, path="", body=None):
        return getattr(program, method)(address + path, body, "application/json")

    added = send("post", body={"url": "https://example.com/in", "events": ["failed"]})
    row = f"/{added.json()['id']}"
    end_run(bob, published, "failed")
    end_run(bob, published, "succeeded")

    listed = program.get(address).json()
    (message,) = program.get(f"{address}{row}/deliveries").json()["items"]
    again = send("post", f"{row}/deliveries/{message['id']}/again", {})
    off = send("patch", row, {"is_on": False}).json()
    gone = send("delete", row)

    assert (added.status_code, added.json()["secret"][:4]) == (201, "whs_")
    assert listed["items"] == [
        {name: value for name, value in added.json().items() if name != "secret"}
    ]
    assert (message["event"], message["status"], message["attempts"]) == ("failed", "pending", 0)
    assert (again.status_code, again.json()["id"], off["is_on"]) == (200, message["id"], False)
    assert (gone.status_code, program.get(address).json()["items"]) == (204, [])


def test_program_needs_more_to_subscribe_to_all_workflows_or_to_an_odd_address(
    cast, published, api_key
):
    program = api_key(cast.alice, scopes={"workflows:read", "workflows:write"})
    address = f"/api/v1/workflows/{published[0].pk}/run-subscriptions"
    body = {"url": "https://example.com/in", "events": ["failed"]}

    answers = [
        program.post(address, body | change, "application/json")
        for change in ({"all_workflows": True}, {"url": "ftp://x"}, {"events": ["stopped"]})
    ]

    assert [each.status_code for each in answers] == [403, 422, 422]
    assert program.get(address).json()["items"] == []


@pytest.mark.django_db(transaction=True)
def test_worker_that_waits_for_receivers_holds_no_connection(bob, published, receiver, monkeypatch):
    """They are told by other threads."""
    held, worker, post = list[bool](), connections["default"], deliveries._post

    def note_and_post(message):
        held.append(worker.connection is not None)
        return post(message)

    monkeypatch.setattr(deliveries, "_post", note_and_post)
    subscribe_to(bob, published[0], url=receiver.url)
    for _number in range(2):
        end_run(bob, published)

    assert send_due_deliveries() == 2

    assert held == [False, False]
    assert len(receiver.requests) == 2


def test_addresses_of_a_workflow_are_limited_in_number(bob, published, receiver):
    workflow, _version = published
    other = make_workflow(bob, "Other")
    own = {"url": receiver.url, "events": ["failed"]}
    rows = [subscribe(bob.principal, workflow=workflow, **own)[0] for _ in range(MAX_SUBSCRIPTIONS)]

    with pytest.raises(InvalidValue) as refused:
        subscribe(bob.principal, workflow=workflow, **own)
    subscribe(bob.principal, workflow=other, **own)
    unsubscribe(bob.principal, workflow=workflow, subscription=rows[0])
    subscribe(bob.principal, workflow=workflow, **own)

    assert str(MAX_SUBSCRIPTIONS) in str(refused.value)
