"""A worker holds all runs below an agent to what the agent has left, and an approval to the call that was shown."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow
from tests.fakes.openai_server import Answer, Call, FakeOpenAI, Request
from tests.support.cast import Cast, Person
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
