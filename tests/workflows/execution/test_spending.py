"""A worker holds all runs below an agent to what the agent has left, and an approval to the call that was shown."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from threading import Barrier, Event
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection
from django.utils import timezone

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_version, make_workflow
from tests.fakes.openai_server import Answer, Call, FakeOpenAI, Request
from tests.support.cast import Cast, Person
from workflows.engine.ports import Usage
from workflows.engine.sub_workflows.shares import Amount, Share
from workflows.engine.sub_workflows.spending_limits import SpendingLimits
from workflows.execution.claims import Claim
from workflows.execution.ports.shares import StoredShares
from workflows.execution.worker import Worker
from workflows.models import Run, Workflow
from workflows.services import credentials
from workflows.services.runs.runs import start_run
from workflows.services.tools.workflow_tools import change_tool_settings


pytestmark = pytest.mark.django_db(transaction=True)

PRICE = 1_000.0  # USD per million tokens of output
TOKENS = 20  # of each answer, so that it costs 0.02
MODEL = {"provider": "acme", "name": "big", "mode": "chat"}


def answer(request: Request) -> Answer:
    """Call the first tool as long as there is any."""
    tools = request.body.get("tools") or []
    calls = [Call(tools[0]["function"]["name"])] if tools else []
    return Answer("So be it.", calls=calls, usage=(0, TOKENS))


@pytest.fixture
def model(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    from config.net import allow, clients

    with FakeOpenAI(models=("big",)) as fake:
        monkeypatch.setattr(clients, "_load_allow_list", lambda: allow.parse_allowed((fake.allow,)))
        fake.script(answer)
        credentials.create_provider(
            cast.alice.principal,
            team_id=cast.team_a.pk,
            name="acme",
            base_url=fake.base_url,
            secret="sk-0123456789abcdef",
            default_model="big",
            prices={"big": {"input": 0.0, "output": PRICE}},
        )
        yield fake


@pytest.fixture
def worker(settings: Any, valkey_url: str) -> Iterator[Worker]:
    settings.REDIS_URL = valkey_url
    made = Worker(capacity=1)
    yield made
    made.stop(0)


def make_published(person: Person, name: str, *nodes: dict[str, Any], output: str) -> Workflow:
    every = [
        {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
        *nodes,
        {
            "id": "end",
            "data": {
                "type": "end",
                "title": "End",
                "outputs": [{"variable": "text", "value_selector": [output, "text"]}],
            },
        },
    ]
    edges = [
        {"id": f"e{number}", "source": source["id"], "target": target["id"]}
        for number, (source, target) in enumerate(pairwise(every))
    ]
    document = {"version": "0.1.0", "nodes": every, "edges": edges}
    workflow = make_workflow(person, name, document)
    make_version(person, workflow)
    return workflow


def ask(number: int) -> dict[str, Any]:
    prompt = [{"role": "user", "text": "Well?"}]
    data = {"type": "llm", "title": "Ask", "model": MODEL, "prompt_template": prompt}
    return {"id": f"ask{number}", "data": data}


def agent(slug: str, **limits: Any) -> dict[str, Any]:
    tool = {"source": "workflow", "provider": slug, "name": slug}
    data = {"type": "agent", "title": "Agent", "model": MODEL, "query": "Go on.", "tools": [tool]}
    return {"id": "agent", "data": {**data, "max_rounds": 20, **limits}}


@pytest.mark.parametrize("limits", [{"max_cost": 0.1}, {"max_tokens": 5 * TOKENS}])
def test_runs_below_an_agent_make_no_call_beyond_its_limit(
    cast: Cast, model: FakeOpenAI, worker: Worker, limits: dict[str, Any]
) -> None:
    inner = make_published(cast.alice, "Inner", *map(ask, range(30)), output="ask29")
    middle = make_published(cast.alice, "Middle", agent("inner"), output="agent")
    for workflow in (inner, middle):
        change_tool_settings(cast.alice.principal, workflow=workflow, is_tool=True)
    outer = make_published(cast.alice, "Outer", agent("middle", **limits), output="agent")

    run = start_run(cast.alice.principal, workflow=outer, inputs={})
    worker.execute_run(run.pk)

    with tenant([cast.team_a.pk]):
        ended = Run.objects.unscoped().get(pk=run.pk)
        below = list(Run.objects.unscoped().filter(parent__isnull=False).order_by("created_at"))
    assert (ended.status, ended.error) == ("succeeded", "")
    # Five calls in all three workflows, and the last answer of the agent whose limit it was.
    assert len(model.requests) == 5 + 1
    assert [each.workflow_id for each in below] == [middle.pk, inner.pk]
    assert "is used up" in below[1].error
    [name] = limits
    assert below[0].spending_limits[name] == pytest.approx(limits[name] * 4 / 5)
    assert below[1].spending_limits[name] == pytest.approx(limits[name] * 3 / 5)


def answer_with_all(request: Request) -> Answer:
    """Call the first tool four times at once as long as there is any."""
    tools = request.body.get("tools") or []
    name = tools[0]["function"]["name"] if tools else ""
    calls = [Call(name, id=f"call-{number}") for number in range(4)] if tools else []
    return Answer("So be it.", calls=calls, usage=(0, TOKENS))


def make_branches(person: Person, name: str, *nodes: dict[str, Any]) -> Workflow:
    """Return a published workflow whose nodes begin at the same moment."""
    start = {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}}
    outputs = [{"variable": "text", "value_selector": [nodes[0]["id"], "text"]}]
    end = {"id": "end", "data": {"type": "end", "title": "End", "outputs": outputs}}
    edges = [
        {"id": f"{source}-{target}", "source": source, "target": target}
        for each in nodes
        for source, target in (("start", each["id"]), (each["id"], "end"))
    ]
    document = {"version": "0.1.0", "nodes": [start, *nodes, end], "edges": edges}
    workflow = make_workflow(person, name, document)
    make_version(person, workflow)
    change_tool_settings(person.principal, workflow=workflow, is_tool=True)
    return workflow


def limit_answer(node: dict[str, Any]) -> dict[str, Any]:
    """Return the node with the length of its answers set, so that they have a highest price."""
    model = {**MODEL, "completion_params": {"max_tokens": TOKENS}}
    return {**node, "data": {**node["data"], "model": model}}


def run_below(cast: Cast, worker: Worker, asks: list[dict[str, Any]], **limits: Any) -> Run:
    """Run an agent that calls four workflows at once, whose branches ask the model at once."""
    inner = make_branches(cast.alice, "Inner", *asks)
    outer = make_published(cast.alice, "Outer", agent(inner.slug, **limits), output="agent")
    run = start_run(cast.alice.principal, workflow=outer, inputs={})
    worker.execute_run(run.pk)
    with tenant([cast.team_a.pk]):
        return Run.objects.unscoped().get(pk=run.pk)


@pytest.mark.parametrize("limits", [{"max_cost": 0.1}, {"max_tokens": 5 * TOKENS}])
def test_calls_at_once_below_an_agent_share_its_limit(
    cast: Cast, model: FakeOpenAI, worker: Worker, limits: dict[str, Any]
) -> None:
    model.script(answer_with_all)

    run = run_below(cast, worker, list(map(ask, range(5))), **limits)

    assert (run.status, run.error) == ("succeeded", "")
    assert len(model.requests) == 5 + 1  # and the last answer of the agent
    [account] = run.shares.values()
    assert (account["tokens"], account["reserved"]) == (4 * TOKENS, {})
    with tenant([cast.team_a.pk]):
        below = list(Run.objects.unscoped().filter(parent=run))
    assert all("is used up" in each.error for each in below)


def test_calls_whose_answers_have_a_length_are_made_at_once(
    cast: Cast, model: FakeOpenAI, worker: Worker
) -> None:
    """Four fit into what is left. Each is answered when all four have come."""
    together = Barrier(4)

    def answer_together(request: Request) -> Answer:
        if request.body.get("max_tokens"):
            together.wait(120)
        return answer_with_all(request)

    model.script(answer_together)

    run = run_below(cast, worker, [limit_answer(ask(number)) for number in range(5)], max_cost=0.1)

    assert (run.status, together.broken) == ("succeeded", False)
    assert len(model.requests) == 5 + 1


def test_start_with_a_limit_of_one_dollar_spends_that_and_what_goes_on_alone(
    cast: Cast, model: FakeOpenAI, worker: Worker
) -> None:
    """Twenty calls of 0.215 at once spent 4.30 of 1.00. Nothing says how long their answers become."""
    model.reset()
    model.script(lambda request: replace(answer_with_all(request), usage=(0, 215)))

    run = run_below(cast, worker, list(map(ask, range(5))), max_cost=1.0)

    assert (run.status, run.error) == ("succeeded", "")
    *before_last_answer, _last_answer = model.requests  # which the agent gives whatever was spent
    assert 1.0 <= 0.215 * len(before_last_answer) < 1.0 + 0.215
    with tenant([cast.team_a.pk]):
        below = list(Run.objects.unscoped().filter(parent=run))
    assert len(below) == 4
    assert sum(each.spending_limits.get("spent", 0) for each in below) == pytest.approx(4 * 0.215)


def make_claim(person: Person, parent: Run | None = None, **fields: Any) -> Claim:
    """Return the claim of a run that a worker executes."""
    lease = timezone.now() + timedelta(minutes=1)
    values = {"status": "running", "attempt": 1, "lease_until": lease, **fields}
    workflow = parent.workflow if parent else make_workflow(person)
    run = make_run(person, workflow, parent=parent, **values)
    return Claim(run.pk, run.team_id, run.attempt, 0, 0.0, {})


SHARE = Share("calls", SpendingLimits(max_cost=1.0))


@pytest.mark.parametrize(
    "fields",
    [
        {"lease_until": timezone.now() - timedelta(days=1)},  # its worker was killed
        {"attempt": 2},  # and another one has taken the run over
        {"status": "stopped", "finished_at": timezone.now(), "lease_until": None},
    ],
)
def test_what_a_lost_attempt_has_reserved_is_given_back(cast: Cast, fields: dict[str, Any]) -> None:
    lost, waiting = (StoredShares(make_claim(cast.alice, load_start(cast))) for _ in range(2))
    reserve = async_to_sync(waiting.reserve)
    call = async_to_sync(lost.reserve)([SHARE], Amount())
    assert not waiting._try_to_reserve([SHARE], "waits", Amount())
    with tenant([cast.team_a.pk]):
        Run.objects.unscoped().filter(pk=lost.claim.run_id).update(**fields)

    granted = reserve([SHARE], Amount())

    assert granted.startswith(f"{waiting.claim.run_id} 1 ")
    async_to_sync(lost.settle)([SHARE], call, Usage(cost=0.5))  # it comes too late
    async_to_sync(waiting.settle)([SHARE], granted, Usage(cost=0.25))
    async_to_sync(waiting.settle)([SHARE], granted, Usage(cost=0.25))  # an outage repeats it
    with tenant([cast.team_a.pk]):
        start = Run.objects.unscoped().get(parent=None)
    assert start.shares == {"calls": {"tokens": 0, "cost": 0.25, "reserved": {}}}


async def test_what_is_reserved_for_a_cancelled_call_is_given_back(cast: Cast) -> None:
    in_thread = sync_to_async(thread_sensitive=False)
    start = await in_thread(load_start)(cast)
    claim = await in_thread(make_claim)(cast.alice, start)
    begun, goes_on = Event(), Event()

    class SlowShares(StoredShares):
        def _try_to_reserve(self, *args: Any) -> bool:
            begun.set()
            assert goes_on.wait(120)
            return super()._try_to_reserve(*args)

    reserving = asyncio.create_task(SlowShares(claim).reserve([SHARE], Amount()))
    await asyncio.to_thread(begun.wait, 120)
    reserving.cancel()
    await asyncio.sleep(0)  # the cancellation is there before the thread goes on
    goes_on.set()

    with pytest.raises(asyncio.CancelledError):
        await reserving
    start = await in_thread(load_start)(cast)
    assert start.shares == {"calls": {"tokens": 0, "cost": 0.0, "reserved": {}}}


def load_start(cast: Cast) -> Run:
    """Return the run that somebody started, which the others are below."""
    with tenant([cast.team_a.pk]):
        start = Run.objects.unscoped().filter(parent=None).select_related("workflow").first()
    return start or make_run(cast.alice, make_workflow(cast.alice), status="running", attempt=1)


def test_many_attempts_at_once_reserve_no_more_than_there_is(cast: Cast) -> None:
    start = load_start(cast)
    ports = [StoredShares(make_claim(cast.alice, start)) for _ in range(6)]
    together = Barrier(len(ports))

    def try_to_reserve(port: StoredShares) -> bool:
        try:
            together.wait(120)
            return port._try_to_reserve([SHARE], f"{port.claim.run_id} 1 a", Amount(1, 0.3))
        finally:
            connection.close()

    with ThreadPoolExecutor(len(ports)) as pool:
        assert sorted(pool.map(try_to_reserve, ports)) == [False] * 3 + [True] * 3
