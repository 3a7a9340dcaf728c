"""Runs that search knowledge bases of the team: in a worker, with the rights of whoever started them."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from config.net import allow, clients
from memory import services
from tests.factories.workflows import make_version, make_workflow
from tests.fakes.openai_server import Failure, FakeOpenAI, Scores
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, Person, make_key
from workflows.execution.worker import Worker
from workflows.models import ModelProvider, ProviderModel, Run, Workflow
from workflows.services import credentials
from workflows.services.runs.runs import start_run
from workflows.services.usage.report import load_report, select_last_days


pytestmark = pytest.mark.django_db(transaction=True)

Drive = Callable[..., Run]
NAMED = ["global:handbook", "global:shop"]
RUN_SCOPES = {"workflows:read", "runs:write", "runs:read"}


@pytest.fixture
def drive(cast: Cast, settings: Any, valkey_url: str) -> Iterator[Drive]:
    settings.REDIS_URL = valkey_url
    worker = Worker(capacity=1)
    for namespace, content in (
        ("global:handbook", "A refund takes five days."),
        ("global:shop", "The shop refunds in cash after five days."),
        ("global:secret", "Refund fraud is a secret."),
    ):
        pages = [{"title": "Refunds", "content": content}]
        services.write_pages(at_door(cast.alice), namespace=namespace, pages=pages)

    def driven(workflow: Workflow, text: str = "refund", *, by: Any = None, **more: Any) -> Run:
        run = start_run(by or cast.bob.principal, workflow=workflow, inputs={"text": text}, **more)
        worker.execute_run(run.pk)
        with tenant([run.team_id]):
            return Run.objects.unscoped().get(pk=run.pk)

    yield driven
    worker.stop(0)


def make(person: Person, name: str, *nodes: dict[str, Any]) -> Workflow:
    start = {
        "type": "start",
        "title": "Start",
        "variables": [{"variable": "text", "type": "string"}],
    }
    every = [{"id": "start", "data": start}, *nodes]
    edges = [
        {"id": str(number), "source": one["id"], "target": two["id"]}
        for number, (one, two) in enumerate(pairwise(every))
    ]
    return make_workflow(person, name, {"version": "0.1.0", "nodes": every, "edges": edges})


def find(**data: Any) -> dict[str, Any]:
    return {"id": "find", "data": {
        "type": "knowledge-retrieval", "title": "Search", "knowledge_bases": NAMED,
        "query_variable_selector": ["start", "text"], **data}}  # fmt: skip


def end(**outputs: list[str]) -> dict[str, Any]:
    rows = [{"variable": name, "value_selector": selector} for name, selector in outputs.items()]
    return {"id": "end", "data": {"type": "end", "title": "End", "outputs": rows}}


FOUND = end(result=["find", "result"], notes=["find", "notes"])


def places(run: Run) -> list[str]:
    assert run.status == "succeeded", run.error
    return [page["metadata"]["dataset_id"] for page in run.outputs["result"]]


def test_run_of_a_member_searches_what_its_document_names(cast: Cast, drive: Drive) -> None:
    run = drive(make(cast.alice, "Ask", find(), FOUND))

    assert sorted(places(run)) == NAMED
    assert {page["metadata"]["dataset_name"] for page in run.outputs["result"]} == {
        "handbook",
        "shop",
    }


def test_nothing_in_a_run_can_name_another_one(cast: Cast, drive: Drive) -> None:
    """What the person types is a query, and a reference among the names is refused before the run."""
    workflow = make(cast.alice, "Ask", find(), FOUND)

    run = drive(
        workflow, 'global:secret ["global:secret"] {"knowledge_bases": ["global:secret"]} refund'
    )

    assert "global:secret" not in places(run)


def test_run_for_an_external_user_needs_a_key_that_may_read_memory(
    cast: Cast, drive: Drive
) -> None:
    workflow = make(cast.alice, "Ask", find(), FOUND)
    with_right, _ = make_key(cast, cast.alice, scopes={*RUN_SCOPES, "memory:read"})
    without, _ = make_key(cast, cast.alice, scopes=RUN_SCOPES)

    allowed = drive(workflow, by=KeyPrincipal(with_right), subject="mia")
    refused = drive(workflow, by=KeyPrincipal(without), subject="mia")

    assert len(places(allowed)) == 2
    assert refused.status == "failed"
    assert "global:handbook can't be read" in refused.error
    assert refused.error_node == "find"


def test_sub_workflow_and_iteration_reach_the_same_and_the_caller_adds_nothing(
    cast: Cast, drive: Drive
) -> None:
    inner = make(cast.alice, "Inner", find(knowledge_bases=["global:shop"]), FOUND)
    make_version(cast.alice, inner)
    call = {"id": "call", "data": {
        "type": "sub-workflow", "title": "Call", "workflow": inner.slug,
        "inputs": {"text": "{{#start.text#}}"}}}  # fmt: skip
    outer = make(cast.alice, "Outer", call, end(result=["call", "result"]))

    assert places(drive(outer)) == ["global:shop"]


def test_team_s_model_ranks_the_pages_again(
    cast: Cast, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranking = {"reranking_enable": True, "reranking_mode": "reranking_model",
               "reranking_model": {"provider": "langgenius/jina/jina", "model": "ranker"}}  # fmt: skip
    workflow = make(cast.alice, "Ask", find(multiple_retrieval_config=ranking), FOUND)
    before = drive(workflow)

    with FakeOpenAI() as server:
        monkeypatch.setattr(
            clients, "_load_allow_list", lambda: allow.parse_allowed((server.allow,))
        )
        connect(cast, server)
        server.script(
            Scores(lambda text: 0.9 if "cash" in text else 0.2, usage={"total_tokens": 30})
        )
        after = drive(workflow)

    assert before.outputs["notes"] == [
        "not reranked: the model ranker of langgenius/jina/jina is not connected"
    ]
    assert places(after) == ["global:shop", "global:handbook"]
    assert after.outputs["notes"] == []
    assert after.total_tokens == 30


def test_default_reranking_model_ranks_counts_and_may_fail(
    cast: Cast, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranking = {"reranking_enable": True, "reranking_mode": "reranking_model"}
    workflow = make(cast.alice, "Ask", find(multiple_retrieval_config=ranking), FOUND)

    with FakeOpenAI() as server:
        monkeypatch.setattr(
            clients, "_load_allow_list", lambda: allow.parse_allowed((server.allow,))
        )
        connect(cast, server)
        with tenant([cast.team_a.pk]):
            provider = ModelProvider.objects.unscoped().get()
            ProviderModel.objects.create(
                team=cast.team_a, provider=provider, type="rerank", name="own", is_default=True
            )
            ModelProvider.objects.unscoped().update(max_retries=0)
        server.script(
            Scores(lambda text: 0.9 if "cash" in text else 0.2, usage={"total_tokens": 30}),
            Failure(503),
        )
        ranked, kept = drive(workflow), drive(workflow)

    assert [request.body["model"] for request in server.requests] == ["own", "own"]
    assert places(ranked)[0] == "global:shop"
    assert (kept.status, len(places(kept))) == ("succeeded", 2)
    assert kept.outputs["notes"] == ["not reranked: jina had a server error (status 503)."]
    selection = select_last_days(cast.team_a.pk)
    report = load_report(cast.alice.principal, selection, ("model", "workflow"))
    calls = report.by["model"]["jina", "own"]
    assert (calls.count, calls.failed, calls.tokens) == (2, 1, 30)
    assert report.by["workflow"][workflow.pk,].tokens == 30


def connect(cast: Cast, server: FakeOpenAI) -> None:
    credentials.create_provider(
        cast.alice.principal, team_id=cast.team_a.pk, name="jina", base_url=server.base_url,
        secret="sk-canary",
    )  # fmt: skip
