"""Requests that arrive at the same moment, over the API and from pages, in connections of their own: each is made once."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_version, make_workflow
from tests.support.cast import Cast, Person
from tests.workflows.questions.asking import ask_people, load
from workflows.engine.nodes.agent.tool_use.approval import AskedCall, build_form
from workflows.execution.questions.links import sign_wait
from workflows.models import Revision, Run, RunWait, Task, Version
from workflows.models.run import DEATHS_UNTIL_PARKED
from workflows.services import tasks
from workflows.services.editor import drafts


pytestmark = pytest.mark.django_db(transaction=True)

API = "/api/v1"
SENDERS = 4

Request = Callable[[Client], Any]


def send_at_once(*requests: tuple[Client, Request]) -> list[Any]:
    """Send the requests from a thread each, which all begin when the last one is ready. Return the responses."""
    barrier = Barrier(len(requests))

    def send(client: Client, request: Request) -> Any:
        try:
            barrier.wait()
            return request(client)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(send, *zip(*requests, strict=True)))


def post(path: str, body: Any = None, **headers: str) -> Request:
    return lambda client: client.post(
        path, data=body or {}, content_type="application/json", headers=headers
    )


def submit(path: str, **fields: str) -> Request:
    """Return a request as the form of a page sends it."""
    return lambda client: client.post(path, fields)


def alternate(cast: Cast, *names: str) -> Iterator[Client]:
    """Yield browsers of these people, in turn."""
    for number in range(SENDERS):
        yield cast.people[names[number % len(names)]].client


def count_statuses(responses: list[Any]) -> Counter[int]:
    return Counter(response.status_code for response in responses)


def count_audited(person: Person, action: str) -> int:
    with tenant([person.team.pk]):
        return AuditEntry.objects.unscoped().filter(action=action).count()


def list_runs(person: Person) -> list[Run]:
    with tenant([person.team.pk]):
        return list(Run.objects.unscoped().order_by("id"))


def list_events(wait: RunWait) -> list[str]:
    with tenant([wait.team_id]):
        return list(load(wait).run.events.values_list("name", flat=True))


def rename(value: str, key: str) -> dict[str, Any]:
    ops = [{"op": "set", "id": "start", "path": ["title"], "value": value}]
    return {"base": 1, "key": key, "client": key, "ops": ops}


def patch(path: str, body: Any) -> Request:
    return lambda client: client.patch(path, data=body, content_type="application/json")


@pytest.mark.parametrize("address", ["/api/v1/workflows/{}/draft", "/workflows/{}/draft/"])
def test_one_of_several_edits_of_a_field_is_made_and_the_others_are_told_both_values(
    cast: Cast, address: str
) -> None:
    workflow = make_workflow(cast.alice)
    path = address.format(workflow.pk)
    clients = alternate(cast, "alice", "bob")

    responses = send_at_once(
        *((client, patch(path, rename(f"Title {n}", f"k{n}"))) for n, client in enumerate(clients))
    )

    assert count_statuses(responses) == {200: 1, 409: SENDERS - 1}
    (title,) = {node.title for node in drafts.load_draft(workflow).nodes if node.id == "start"}
    for response in responses:
        if response.status_code == 409:
            assert title in response.content.decode()
    with tenant([workflow.team_id]):
        assert Revision.objects.unscoped().filter(workflow=workflow).count() == 2


@pytest.mark.parametrize("address", ["/api/v1/workflows/{}/draft", "/workflows/{}/draft/"])
def test_edit_that_is_sent_several_times_is_made_once(cast: Cast, address: str) -> None:
    workflow = make_workflow(cast.alice)
    request = patch(address.format(workflow.pk), rename("Once", "k"))

    responses = send_at_once(*((client, request) for client in alternate(cast, "alice")))

    assert count_statuses(responses) == {200: SENDERS}
    with tenant([workflow.team_id]):
        assert Revision.objects.unscoped().filter(workflow=workflow).count() == 2


def test_one_of_several_approvals_is_taken_from_page_api_and_link(cast: Cast) -> None:
    form: Any = build_form(AskedCall("send", {"to": "ana"}))
    people = [f"user:{person.user.pk}" for person in (cast.ada, cast.vic)]
    wait = ask_people(cast.bob, *people, form=form)
    page = reverse("workflows:answer_wait", args=[wait.run_id, wait.pk])
    api = f"{API}/runs/{wait.run_id}/waits/{wait.pk}"

    responses = send_at_once(
        (cast.ada.client, submit(page, **{"-action": "allow", "comment": "page"})),
        (cast.vic.client, submit(page, **{"-action": "refuse", "comment": "page"})),
        (cast.ada.client, post(api, {"action": "allow", "values": {"comment": "api"}})),
        (cast.vic.client, post(api, {"action": "refuse", "values": {"comment": "api"}})),
    )

    by_api = count_statuses(responses[2:])
    assert {response.status_code for response in responses[:2]} <= {200, 302}
    assert by_api in ({409: 2}, {200: 1, 409: 1})
    assert (count_audited(cast.bob, "run.answered"), list_events(wait)) == (1, ["run_resumed"])
    assert (load(wait).run.status, load(wait).action in ("allow", "refuse")) == ("queued", True)


def test_link_that_is_used_several_times_at_once_answers_once(cast: Cast) -> None:
    wait = ask_people(cast.alice, "email:boss@example.com")
    url = reverse("workflows:answer", args=[sign_wait(wait.team_id, wait.pk, "boss@example.com")])
    requests = [submit(url, **{"-action": action}, comment="") for action in ("pay", "refuse") * 2]

    responses = send_at_once(*((Client(), request) for request in requests))

    statuses = count_statuses(responses)
    assert (statuses[200], set(statuses) <= {200, 404, 409}) == (1, True)
    assert (count_audited(cast.alice, "run.answered"), list_events(wait)) == (1, ["run_resumed"])


@pytest.mark.parametrize("is_page", [False, True])
def test_one_of_several_resumes_is_made(cast: Cast, is_page: bool) -> None:
    pause = {"nodes": ["end"], "at": 1.0, "finished": 1}
    workflow = make_workflow(cast.alice)
    run = make_run(cast.alice, workflow, status="paused", debug={}, pause=pause)
    path = reverse("workflows:resume_run", args=[run.pk])
    request = (
        submit(path, mode="step")
        if is_page
        else post(f"{API}/runs/{run.pk}/resume", {"mode": "step"})
    )

    responses = send_at_once(*((client, request) for client in alternate(cast, "alice")))

    assert sum(response.status_code < 300 for response in responses) == 1
    assert set(count_statuses(responses)) <= {200, 204, 409}
    assert count_audited(cast.alice, "run.resumed") == 1


def test_parked_run_is_continued_once(cast: Cast) -> None:
    workflow, ended = make_workflow(cast.alice), {"status": "failed", "finished_at": timezone.now()}
    run = make_run(cast.alice, workflow, **ended, kill_count=DEATHS_UNTIL_PARKED)
    request = post(f"{API}/runs/{run.pk}/continue")

    responses = send_at_once(*((client, request) for client in alternate(cast, "alice")))

    assert count_statuses(responses) == {200: 1, 409: SENDERS - 1}
    assert count_audited(cast.alice, "run.continued") == 1


def test_starts_with_one_key_begin_one_run_and_the_others_may_ask_again(cast: Cast) -> None:
    path = f"{API}/workflows/{make_workflow(cast.alice).pk}/runs"
    body = {"inputs": {"text": "a"}, "version": "draft"}
    request = post(path, body, **{"Idempotency-Key": "k"})

    responses = send_at_once(*((client, request) for client in alternate(cast, "alice")))
    again = request(cast.alice.client)

    (run,) = list_runs(cast.alice)
    assert set(count_statuses(responses)) <= {202, 409}
    begun = {response.json()["id"] for response in responses if response.status_code == 202}
    assert begun == {str(run.pk)} == {again.json()["id"]}
    refused = [response.json() for response in responses if response.status_code == 409]
    assert all(each["error"]["retryable"] for each in refused)


@pytest.mark.parametrize("is_page", [False, True])
def test_task_that_two_people_execute_runs_once(cast: Cast, is_page: bool) -> None:
    workflow = make_workflow(cast.alice)
    make_version(cast.alice, workflow)
    principal, team_id = cast.alice.principal, cast.team_a.pk
    task = tasks.create_task(principal, team_id=team_id, title="Tidy up", workflow=workflow)
    request = (
        submit(reverse("workflows:execute_task", args=[task.pk]))
        if is_page
        else post(f"{API}/tasks/{task.pk}/execute")
    )

    responses = send_at_once(*((client, request) for client in alternate(cast, "alice")))

    (run,) = list_runs(cast.alice)
    assert max(response.status_code for response in responses) < 400
    with tenant([team_id]):
        assert Task.objects.unscoped().get(pk=task.pk).run_id == run.pk
    assert count_audited(cast.alice, "task.executed") == 1


def test_drafts_that_are_published_at_once_get_numbers_of_their_own(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    request = post(f"{API}/workflows/{workflow.pk}/publish")

    responses = send_at_once(*((client, request) for client in alternate(cast, "alice", "bob")))

    assert max(response.status_code for response in responses) < 500
    with tenant([workflow.team_id]):
        rows = Version.objects.unscoped().filter(workflow=workflow).order_by("number")
        numbers = list(rows.values_list("number", flat=True))
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) == sum(response.status_code < 300 for response in responses)
