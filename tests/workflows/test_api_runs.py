"""The run routes of the API, as a programme with a key uses them, with a real worker driving."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import AsyncClient
from django.utils import timezone

from tests.factories.workflows import document, make_version, make_workflow
from tests.support.cast import Cast, KeyClient
from workflows.execution.events.hub import get_hub
from workflows.execution.worker import Worker
from workflows.models import Workflow


pytestmark = pytest.mark.django_db(transaction=True)

ROOT = "/api/v1/runs"


@pytest.fixture(autouse=True)
def no_bus(settings: Any) -> None:
    """Without one, a worker looks for runs itself and a reader reads rows: nothing to wait for."""
    settings.REDIS_URL = ""


@pytest.fixture
def workflow(cast: Cast) -> Workflow:
    return make_workflow(cast.alice)


@pytest.fixture
def api(cast: Cast, api_key: Callable[..., KeyClient]) -> KeyClient:
    return api_key(cast.alice)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(capacity=4)
    yield made
    made.stop(0)


class AsyncKeyClient(AsyncClient):
    """Django's own forgets the headers it is made with."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._secret = secret

    async def request(self, **request: Any) -> Any:
        request["headers"] = [
            *request["headers"],
            (b"authorization", f"Bearer {self._secret}".encode()),
        ]
        return await super().request(**request)


@pytest.fixture
async def http(api: KeyClient) -> AsyncIterator[AsyncClient]:
    yield AsyncKeyClient(api.secret)
    await get_hub().close()


def start(client: Any, workflow: Workflow, **body: Any) -> Any:
    return client.post(
        f"/api/v1/workflows/{workflow.pk}/runs",
        data={"inputs": {"text": "hi"}, "version": "draft", **body},
        content_type="application/json",
    )


def test_run_is_queued_read_listed_and_read_with_its_steps(
    api: KeyClient, workflow: Workflow, worker: Worker
) -> None:
    answer = start(api, workflow, user="customer-7")
    queued = answer.json()
    run_id = queued["id"]

    assert (answer.status_code, queued["status"], queued["user"]) == (202, "queued", "customer-7")
    assert queued["events_url"] == f"{ROOT}/{run_id}/events"
    worker.execute_run(UUID(run_id))

    detail = api.get(f"{ROOT}/{run_id}").json()
    assert (detail["status"], detail["attempt"]) == ("succeeded", 1)
    assert [(step["node"], step["status"]) for step in detail["steps"]] == [
        ("start", "succeeded"),
        ("end", "succeeded"),
    ]
    page = api.get(ROOT, {"workflow": str(workflow.pk), "status": "succeeded"}).json()
    assert ([row["id"] for row in page["items"]], page["count"]) == ([run_id], 1)
    assert api.get(ROOT, {"status": "failed"}).json()["count"] == 0


async def test_blocking_start_answers_with_the_end(
    http: AsyncClient, workflow: Workflow, worker: Worker
) -> None:
    await asyncio.to_thread(worker.start)

    answer = await start(http, workflow, response_mode="blocking", wait_seconds=90)

    assert answer.status_code == 200
    assert answer.json()["status"] == "succeeded"
    assert [step["node"] for step in answer.json()["steps"]] == ["start", "end"]


async def test_blocking_start_nobody_drives_answers_202_after_its_wait(
    http: AsyncClient, workflow: Workflow
) -> None:
    answer = await start(http, workflow, response_mode="blocking", wait_seconds=0.2)

    assert (answer.status_code, answer.json()["status"]) == (202, "queued")


async def test_events_come_in_order_and_go_on_after_the_last_one_seen(
    http: AsyncClient, workflow: Workflow, worker: Worker
) -> None:
    run = (await start(http, workflow)).json()
    await asyncio.to_thread(worker.execute_run, UUID(run["id"]))

    whole = await frames(await http.get(run["events_url"]))
    rest = await frames(await http.get(run["events_url"], headers={"Last-Event-ID": "2"}))
    over = await http.get(run["events_url"], headers={"Last-Event-ID": str(len(whole))})

    assert [number for number, _name in whole] == list(range(1, len(whole) + 1))
    assert (whole[0][1], whole[-1][1]) == ("run_started", "run_finished")
    assert rest == whole[2:]
    assert over.status_code == 204


async def frames(answer: Any) -> list[tuple[int, str]]:
    assert answer["Content-Type"] == "text/event-stream"
    text = b"".join([part async for part in answer.streaming_content]).decode()
    parsed = [
        dict(line.split(": ", 1) for line in frame.split("\n"))
        for frame in text.strip().split("\n\n")
    ]
    return [(int(one["id"]), one["event"]) for one in parsed if "id" in one]


def test_version_asked_for_is_the_version_that_runs(
    api: KeyClient, cast: Cast, workflow: Workflow
) -> None:
    version = make_version(cast.alice, workflow)

    assert start(api, workflow, version=None).json()["version"] == version.number
    assert start(api, workflow, version="draft").json()["version"] is None


@pytest.mark.parametrize("version", [None, "published"])
def test_workflow_that_was_never_published_does_not_run_its_draft_unasked(
    api: KeyClient, workflow: Workflow, version: str | None
) -> None:
    answer = start(api, workflow, version=version)

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (409, "NotPublished")
    assert 'run its draft with "version": "draft"' in error["message"]
    assert start(api, workflow, version="draft").status_code == 202


def test_inputs_that_the_workflow_does_not_take_are_refused_by_name(
    api: KeyClient, workflow: Workflow
) -> None:
    answer = start(api, workflow, inputs={"txet": "hi", "more": 1})

    problems = answer.json()["error"]["problems"]
    assert answer.status_code == 422
    assert [(problem["code"], problem["field"]) for problem in problems] == [
        ("input.unknown", "more"),
        ("input.unknown", "txet"),
    ]
    assert "It takes: text." in problems[0]["message"]
    assert api.get(ROOT).json()["count"] == 0


def test_accepted_run_says_where_and_when_to_look(api: KeyClient, workflow: Workflow) -> None:
    answer = start(api, workflow)

    run = answer.json()
    assert answer.status_code == 202
    assert answer["Location"] == run["url"] == f"{ROOT}/{run['id']}"
    assert int(answer["Retry-After"]) > 0
    assert api.get(answer["Location"]).json()["status"] == "queued"
    assert api.get(run["waits_url"]).status_code == 200


async def test_repeated_blocking_start_tells_the_present_state(
    http: AsyncClient, workflow: Workflow, worker: Worker
) -> None:
    def post() -> Any:
        return http.post(
            f"/api/v1/workflows/{workflow.pk}/runs",
            data={"version": "draft", "response_mode": "blocking", "wait_seconds": 0.2},
            content_type="application/json",
            headers={"Idempotency-Key": "once"},
        )

    first = await post()
    await asyncio.to_thread(worker.execute_run, UUID(first.json()["id"]))
    again = await post()

    assert (first.status_code, first.json()["status"]) == (202, "queued")
    assert first["Location"] == first.json()["url"]
    assert (again.status_code, again.json()["status"]) == (200, "succeeded")
    assert again["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("person", [" ", "x" * 81, ":" * 27])
def test_person_with_an_odd_id_is_422(api: KeyClient, workflow: Workflow, person: str) -> None:
    assert start(api, workflow, user=person).status_code == 422
    assert api.get(ROOT).json()["count"] == 0


def test_account_named_as_the_person_is_404(api: KeyClient, workflow: Workflow, cast: Cast) -> None:
    assert start(api, workflow, user=str(cast.bob.user.pk)).status_code == 404


def test_input_that_does_not_fit_is_422(api: KeyClient, cast: Cast) -> None:
    strict = make_workflow(cast.alice, source=document("Echo", required=True))

    assert start(api, strict, inputs={}).status_code == 422
    assert start(api, strict, surprise=1).status_code == 422


def test_cancel_stops_a_queued_run_once(api: KeyClient, workflow: Workflow) -> None:
    run = start(api, workflow).json()

    first = api.post(f"{ROOT}/{run['id']}/cancel", content_type="application/json").json()
    again = api.post(f"{ROOT}/{run['id']}/cancel", content_type="application/json").json()

    assert (first["status"], again["status"]) == ("stopped", "stopped")
    assert again["finished_at"] == first["finished_at"]


def test_key_of_another_team_finds_nothing(
    api: KeyClient, cast: Cast, api_key: Callable[..., KeyClient], workflow: Workflow
) -> None:
    run = start(api, workflow).json()
    stranger = api_key(cast.carol)

    assert start(stranger, workflow).status_code == 404
    for path in (f"{ROOT}/{run['id']}", f"{ROOT}/{run['id']}/events", f"{ROOT}/{uuid4()}"):
        assert stranger.get(path).status_code == 404
    assert (
        stranger.post(f"{ROOT}/{run['id']}/cancel", content_type="application/json").status_code
        == 404
    )
    assert stranger.get(ROOT, {"workflow": str(workflow.pk)}).status_code == 404
    assert stranger.get(ROOT).json()["count"] == 0
    assert api.get(f"{ROOT}/{run['id']}").json()["status"] == "queued"


def test_key_does_only_what_its_scopes_say(
    api: KeyClient, cast: Cast, api_key: Callable[..., KeyClient], workflow: Workflow
) -> None:
    reader = api_key(cast.alice, scopes={"runs:read", "workflows:read"})
    nobody = api_key(cast.alice, scopes={"memory:read"})

    assert start(reader, workflow).status_code == 403
    assert reader.get(ROOT).status_code == 200
    assert start(api, workflow).status_code == 202
    assert nobody.get(ROOT).json() == {"items": [], "next": None, "count": 0}


async def test_key_is_asked_for_on_every_route(workflow: Workflow) -> None:
    client, run_id = AsyncClient(), uuid4()

    answers = [
        await start(client, workflow),
        await client.get(ROOT),
        await client.get(f"{ROOT}/{run_id}"),
        await client.get(f"{ROOT}/{run_id}/events"),
        await client.post(f"{ROOT}/{run_id}/cancel", content_type="application/json"),
    ]

    assert [answer.status_code for answer in answers] == [401] * 5


def test_list_is_narrowed_by_whom_it_is_for_what_was_said_and_when(
    api: KeyClient, workflow: Workflow, worker: Worker
) -> None:
    first_day = timezone.localdate()
    ana = start(api, workflow, inputs={"text": "Where is Miso?"}, user="ana").json()["id"]
    anatol = start(api, workflow, inputs={"text": "Nowhere"}, user="anatol").json()["id"]

    def listed(**asked: str) -> list[str]:
        answer = api.get(ROOT, asked)
        assert answer.status_code == 200, answer.content
        assert answer.json()["count"] == len(answer.json()["items"])
        return [one["id"] for one in answer.json()["items"]]

    last_day = timezone.localdate()  # midnight may have passed
    tomorrow = last_day + timedelta(days=1)
    assert listed(user="ana") == [ana]
    assert listed(text="miso") == [ana]
    assert listed(since=first_day.isoformat(), until=last_day.isoformat()) == [anatol, ana]
    assert listed(since=tomorrow.isoformat()) == []
    assert listed(node="start") == []  # nobody drove them yet
    worker.execute_run(UUID(ana))
    assert listed(node="start", user="ana") == [ana]


@pytest.mark.parametrize("asked", ["since=tomorrow", "status=odd", "person=ana"])
def test_filter_that_makes_no_sense_is_refused_rather_than_left_out(
    api: KeyClient, asked: str
) -> None:
    assert api.get(f"{ROOT}?{asked}").status_code == 422
