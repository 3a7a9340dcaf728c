"""An agent that calls an MCP server, and whose worker is killed between two calls: no call that ended is made again."""

import json
from collections import Counter
from typing import Any

import pytest

from config import net
from tests.durability.conftest import Cluster, answer_from_now_on
from tests.fakes.mcp_servers import NEW, OLD, ServedMcp, serve_mcp
from tests.fakes.openai_server import Answer, Call, FakeOpenAI, Request
from tests.support.cast import Cast
from workflows.models import Run
from workflows.services.catalog import importing
from workflows.services.credentials import create_provider
from workflows.services.runs.runs import start_run
from workflows.services.runs.waits import answer_wait
from workflows.services.tools.changing import choose_operations
from workflows.services.tools.connecting import connect_mcp


def document(*tools: str) -> dict[str, Any]:
    agent = {
        "type": "agent",
        "title": "Agent",
        "model": {"provider": "ledger", "name": "small", "mode": "chat"},
        "query": "Add some numbers",
        "tools": [{"source": "mcp", "provider": "shop", "name": name} for name in tools],
        "max_rounds": 20,
    }
    end = {"type": "end", "title": "End", "outputs": [
        {"variable": "text", "value_selector": ["agent", "text"]}]}  # fmt: skip
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
            {"id": "agent", "data": agent},
            {"id": "end", "data": end},
        ],
        "edges": [
            {"id": "e1", "source": "start", "target": "agent"},
            {"id": "e2", "source": "agent", "target": "end"},
        ],
    }


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = net.parse_allowed(["127.0.0.1:*"])
    monkeypatch.setattr("config.net.clients._load_allow_list", lambda: allowed)


def start_agent(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI, served: ServedMcp, *tools: str
) -> Run:
    alice, team = cast.alice.principal, cast.team_a.pk
    cluster.environment["NET_ALLOW"] = "127.0.0.1:*"
    create_provider(
        alice, team_id=team, name="ledger", base_url=ledger.base_url, secret="sk-0123456789"
    )
    admin = cast.ada.principal
    row = connect_mcp(admin, team_id=team, url=served.url, name="Shop", slug="shop")
    choose_operations(admin, connection=row, enabled=tools, approvals=())
    imported = importing.import_document(alice, team_id=team, source=document(*tools), name="agent")
    return start_run(alice, workflow=imported.workflow)


def count_results(request: Request) -> int:
    return sum(message["role"] == "tool" for message in request.body["messages"])


@pytest.mark.parametrize("revision", [NEW, OLD])
@pytest.mark.usefixtures("loopback")
def test_call_that_ended_is_not_made_again_after_the_worker_was_killed(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI, held: Answer, revision: str
) -> None:
    def add_next(request: Request) -> Answer:
        count = count_results(request)
        if count == 4:
            return Answer("added all")
        arguments = json.dumps({"a": count, "b": 1})
        return Answer(calls=[Call("add", arguments, f"call-{count}")])

    with serve_mcp(revision) as served:
        run = start_agent(cluster, cast, ledger, served, "add")
        # The worker dies between the second call and the third: its model doesn't answer any more.
        answer_from_now_on(
            ledger, lambda request: held if count_results(request) == 2 else add_next(request)
        )
        cluster.start("one")
        cluster.until(lambda: any(count_results(request) == 2 for request in ledger.requests))
        cluster.kill("one")
        cluster.expire_leases()
        answer_from_now_on(ledger, add_next)
        cluster.start("two")
        row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"text": "added all"})
    assert [call.arguments["a"] for call in served.calls] == [0, 1, 2, 3]
    assert set(Counter(call.key for call in served.calls).values()) == {1}
    cluster.check(run)


@pytest.mark.usefixtures("loopback")
def test_run_goes_on_with_its_connection_after_a_person_has_answered(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI
) -> None:
    def order_twice(request: Request) -> Answer:
        count = count_results(request)
        return Answer("ordered") if count == 2 else Answer(calls=[Call("order", "{}", f"c{count}")])

    answer_from_now_on(ledger, order_twice)
    with serve_mcp(NEW) as served:
        run = start_agent(cluster, cast, ledger, served, "order")
        before = served.requests["new server/discover"]
        cluster.start("one")
        for count in (1, 2):
            cluster.until(lambda count=count: list_waits(cluster, run)[count - 1 :])
            wait = list_waits(cluster, run)[-1]
            answer_wait(
                cast.alice.principal, run, wait_id=wait, values={"size": "L"}, action="accept"
            )
        row = cluster.until_ended(run)

    assert row["outputs"] == {"text": "ordered"}
    assert len(served.calls) == 4
    assert served.requests["new server/discover"] == before + 1


def list_waits(cluster: Cluster, run: Run) -> list[Any]:
    """Return the questions of a run that it has paused for, the oldest first."""
    statement = "select w.id from workflows_runwait w where w.run_id = %s order by w.created_at"
    if cluster.row(run)["status"] not in ("paused", "succeeded"):
        return []
    return [row[0] for row in cluster.db.execute(statement, (run.pk,)).fetchall()]


@pytest.mark.usefixtures("loopback")
def test_question_of_a_server_is_answered_after_the_worker_was_killed(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI
) -> None:
    def order_once(request: Request) -> Answer:
        results = [each for each in request.body["messages"] if each["role"] == "tool"]
        return Answer(results[0]["content"]) if results else Answer(calls=[Call("order", "{}")])

    answer_from_now_on(ledger, order_once)
    with serve_mcp(NEW) as served:
        run = start_agent(cluster, cast, ledger, served, "order")
        cluster.start("one")
        cluster.until(lambda: cluster.row(run)["status"] == "paused")
        cluster.kill("one")
        [(wait, form)] = cluster.db.execute(
            "select id, form from workflows_runwait where run_id = %s", (run.pk,)
        ).fetchall()
        answer_wait(cast.alice.principal, run, wait_id=wait, values={"size": "L"}, action="accept")
        cluster.start("two")
        row = cluster.until_ended(run)

    assert "Which size?" in form["content"]
    assert "basket 7: accept {'size': 'L'" in row["outputs"]["text"]
    assert {call.key for call in served.calls} == {served.calls[0].key}
    assert len(ledger.requests) == 2
    cluster.check(run)
