"""The Idempotency-Key of each route that starts something: the same request again, another one, and two at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.services import issue_key
from accounts.tenancy import tenant
from tests.factories.workflows import document, make_run, make_version, make_workflow
from tests.support.cast import Cast, KeyClient, Person
from workflows.execution.idempotency_keys import delete_expired_keys
from workflows.models import IdempotencyKey, Run, RunWait
from workflows.models.run import DEATHS_UNTIL_PARKED
from workflows.services import tasks
from workflows.services.data_sets import data_sets
from workflows.services.data_sets.cases import add_cases, make_case
from workflows.services.debugging.cases import save_case
from workflows.services.erasure import erase_person


pytestmark = pytest.mark.django_db(transaction=True)

API = "/api/v1"


class Start(NamedTuple):
    """A request that starts something, another request to the same address, and what the audit trail says of one."""

    path: str
    body: dict[str, Any]
    other: dict[str, Any]
    action: str


def start_of_run(person: Person) -> Start:
    path = f"{API}/workflows/{make_workflow(person).pk}/runs"
    body, other = ({"inputs": {"text": text}, "version": "draft"} for text in "ab")
    return Start(path, body, other, "run.started")


def start_of_new_task(person: Person) -> Start:
    return Start(f"{API}/tasks", {"title": "Tidy up"}, {"title": "Tidy"}, "task.created")


def start_of_task(person: Person) -> Start:
    workflow = make_workflow(person)
    make_version(person, workflow)
    task = tasks.create_task(
        person.principal, team_id=person.team.pk, title="Tidy up", workflow=workflow
    )
    return Start(f"{API}/tasks/{task.pk}/execute", {}, {"other": 1}, "task.executed")


def start_of_resume(person: Person) -> Start:
    pause = {"nodes": ["end"], "at": 1.0, "finished": 1}
    run = make_run(person, make_workflow(person), status="paused", debug={}, pause=pause)
    return Start(f"{API}/runs/{run.pk}/resume", {"mode": "step"}, {"mode": "stop"}, "run.resumed")


def start_of_continuing(person: Person) -> Start:
    ended = {"status": "failed", "finished_at": timezone.now()}
    run = make_run(person, make_workflow(person), **ended, kill_count=DEATHS_UNTIL_PARKED)
    return Start(f"{API}/runs/{run.pk}/continue", {}, {"other": 1}, "run.continued")


def start_of_answer(person: Person) -> Start:
    pause = {"nodes": ["ask"], "reason": "input", "at": 0}
    run = make_run(person, make_workflow(person), status="paused", pause=pause)
    form = {"type": "form", "inputs": [{"name": "comment", "type": "paragraph"}]}
    with tenant([run.team_id]):
        wait = RunWait.objects.create(team_id=run.team_id, run=run, node_key="ask", form=form)
    path = f"{API}/runs/{run.pk}/waits/{wait.pk}"
    return Start(path, {"values": {"comment": "x"}}, {"values": {"comment": "y"}}, "run.answered")


def start_of_tests(person: Person) -> Start:
    workflow = make_workflow(person)
    save_case(person.principal, workflow=workflow, spec={"name": "one", "inputs": {"text": "x"}})
    return Start(f"{API}/workflows/{workflow.pk}/tests/run", {}, {"offline": True}, "case.run")


def start_of_evaluation(person: Person) -> Start:
    data_set = data_sets.save_data_set(person.principal, team_id=person.team.pk, name="Set")
    add_cases(person.principal, data_set, [make_case("a", {"text": "a"}, "a")])
    body = {"workflow": str(make_workflow(person).pk)}
    path = f"{API}/data-sets/{data_set.pk}/evaluations"
    return Start(path, body, {**body, "offline": True}, "data_set.evaluated")


STARTS = (
    *(start_of_run, start_of_new_task, start_of_task, start_of_resume, start_of_continuing),
    *(start_of_answer, start_of_tests, start_of_evaluation),
)


def send(client: Client, path: str, body: Any, key: str | None = "k-1") -> Any:
    headers = {"Idempotency-Key": key} if key is not None else {}
    return client.post(path, data=body, content_type="application/json", headers=headers)


def count(cast: Cast, start: Start) -> int:
    with tenant([cast.team_a.pk]):
        return AuditEntry.objects.unscoped().filter(action=start.action).count()


@pytest.fixture
def client(cast: Cast) -> Client:
    return cast.alice.client


@pytest.mark.parametrize("make", STARTS)
def test_same_request_with_the_same_key_has_one_effect_and_one_answer(
    make: Callable[[Person], Start], cast: Cast, client: Client
) -> None:
    start = make(cast.alice)
    before = count(cast, start)

    first = send(client, start.path, start.body)
    again = send(client, start.path, start.body)

    assert first.status_code in (200, 201, 202), first.content
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert (first.get("Idempotent-Replayed"), again["Idempotent-Replayed"]) == (None, "true")
    assert count(cast, start) == before + 1


@pytest.mark.parametrize("make", STARTS)
def test_another_request_with_the_same_key_is_refused(
    make: Callable[[Person], Start], cast: Cast, client: Client
) -> None:
    start = make(cast.alice)
    first = send(client, start.path, start.body)

    other = send(client, start.path, start.other)

    assert first.status_code < 300
    assert (other.status_code, other.json()["error"]["type"]) == (422, "KeyReused")


def test_order_of_the_body_does_not_matter(cast: Cast, client: Client) -> None:
    start = start_of_run(cast.alice)
    first = send(
        client, start.path, '{"inputs": {"text": "a"}, "offline": true, "version": "draft"}'
    )

    again = send(client, start.path, '{"offline":true,"version":"draft","inputs":{"text":"a"}}')

    assert again.json()["id"] == first.json()["id"]


def test_same_key_at_another_address_is_refused(cast: Cast, client: Client) -> None:
    one, two = start_of_run(cast.alice), start_of_run(cast.alice)
    send(client, one.path, one.body)

    assert send(client, two.path, two.body).status_code == 422


def test_without_a_key_each_request_starts_a_run(cast: Cast, client: Client) -> None:
    start = start_of_run(cast.alice)

    answers = [send(client, start.path, start.body, key=None) for _ in range(2)]

    assert len({answer.json()["id"] for answer in answers}) == 2


def test_key_belongs_to_its_sender(
    cast: Cast, client: Client, api_key: Callable[..., KeyClient]
) -> None:
    start = start_of_run(cast.alice)

    answers = [send(each, start.path, start.body) for each in (client, api_key(cast.alice))]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert len({answer.json()["id"] for answer in answers}) == 2


def test_answer_is_not_repeated_to_a_key_of_the_program_that_may_do_less(
    cast: Cast, api_key: Callable[..., KeyClient]
) -> None:
    start = start_of_run(cast.alice)
    strong = api_key(cast.alice)
    like_it, weak = (
        KeyClient(
            *issue_key(
                principal=cast.alice.principal,
                team=cast.alice.team,
                name="second",
                scopes=scopes,
                service_account_id=strong.key.service_account_id,
            )
        )
        for scopes in (strong.key.scopes, ["memory:read"])
    )
    first = send(strong, start.path, start.body)

    again, refused = send(like_it, start.path, start.body), send(weak, start.path, start.body)

    assert (first.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert refused.status_code == 403
    assert first.json()["id"] not in refused.content.decode()


def test_refused_request_leaves_its_key_free(cast: Cast, client: Client) -> None:
    workflow = make_workflow(cast.alice, source=document(required=True))
    runs = f"{API}/workflows/{workflow.pk}/runs"
    task = {"title": "  "}

    refused = [
        send(client, runs, {"inputs": {}, "version": "draft"}),
        send(client, f"{API}/tasks", task, key="k-2"),
    ]

    assert [answer.status_code for answer in refused] == [422, 422]
    assert send(client, runs, {"inputs": {"text": "a"}, "version": "draft"}).status_code == 202
    assert send(client, f"{API}/tasks", {"title": "Real"}, key="k-2").status_code == 201


@pytest.mark.parametrize("key", ["", "ü", "x" * 256])
def test_key_that_is_no_key_is_refused(key: str, cast: Cast, client: Client) -> None:
    start = start_of_run(cast.alice)

    answer = send(client, start.path, start.body, key=key)

    assert answer.status_code == 422
    assert answer.json()["error"]["problems"][0]["field"] == "Idempotency-Key"


@pytest.mark.parametrize("make", [start_of_run, start_of_new_task])
def test_second_request_while_the_first_is_handled_may_be_sent_again(
    make: Callable[[Person], Start], cast: Cast, client: Client
) -> None:
    start = make(cast.alice)
    name = f"{cast.team_a.pk} user:{cast.alice.user.pk} k-1"
    with hold_lock(name):
        busy = send(client, start.path, start.body)

    assert (busy.status_code, busy.json()["error"]["retryable"]) == (409, True)
    assert send(client, start.path, start.body).status_code < 300


@contextmanager
def hold_lock(name: str) -> Iterator[None]:
    """Hold the lock of a key in another transaction, as a request does that is still being handled."""
    other = connection.copy("other")
    other.set_autocommit(False)
    with other.cursor() as cursor:
        lock = "select pg_advisory_xact_lock(hashtext('idempotency-key'), hashtext(%s))"
        cursor.execute(lock, [name])
    try:
        yield
    finally:
        other.rollback()
        other.close()


def test_request_that_breaks_after_the_start_keeps_no_key(
    cast: Cast, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = start_of_new_task(cast.alice)

    def break_off(*_: object, **__: object) -> None:
        raise RuntimeError

    client.raise_request_exception = False
    with monkeypatch.context() as patch:
        patch.setattr("workflows.api.tasks._serialize_tasks", break_off)
        broken = send(client, start.path, start.body)
    again = send(client, start.path, start.body)

    assert (broken.status_code, again.status_code) == (500, 201)
    assert count(cast, start) == 1


def test_key_expires_after_a_day_and_upkeep_deletes_it(cast: Cast, client: Client) -> None:
    start = start_of_run(cast.alice)
    first = send(client, start.path, start.body)
    with tenant([cast.team_a.pk]):
        IdempotencyKey.objects.unscoped().update(created_at=timezone.now() - timedelta(hours=25))

    later = send(client, start.path, start.body)
    with tenant([cast.team_a.pk]):
        IdempotencyKey.objects.unscoped().update(created_at=timezone.now() - timedelta(hours=25))
    deleted = delete_expired_keys()

    assert later.json()["id"] != first.json()["id"]
    assert deleted == 1


def test_erased_person_leaves_no_answer_behind(
    cast: Cast, api_key: Callable[..., KeyClient]
) -> None:
    start = start_of_run(cast.alice)
    key = api_key(cast.alice)
    answer = send(key, start.path, {**start.body, "user": "customer-7"})
    with tenant([cast.team_a.pk]):
        Run.objects.unscoped().update(status="stopped", finished_at=timezone.now())
        row = IdempotencyKey.objects.unscoped().get()

        assert str(row.object_id) == answer.json()["id"]
        erase_person(cast.team_a.pk, answer.json()["user"], dry_run=False)
        assert not IdempotencyKey.objects.unscoped().exists()
