"""An agent of ten rounds whose worker is killed twice with -9: it finishes, and no finished call is made again."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.durability.conftest import Cluster, answer_from_now_on
from tests.durability.ledger_tools import LEDGER, open_gate
from tests.fakes.openai_server import Answer, Call, FakeOpenAI, Request
from tests.support.cast import Cast
from tests.support.nursery_process import PLUGIN
from workflows.models import Run
from workflows.services.catalog import importing
from workflows.services.credentials import create_provider
from workflows.services.runs.runs import start_run
from workflows.services.runs.waits import answer_wait


ROUNDS = 10


def document(**tool: Any) -> dict[str, Any]:
    agent = {
        "type": "agent",
        "title": "Agent",
        "model": {"provider": "ledger", "name": "small", "mode": "chat"},
        "query": "Note ten numbers",
        "tools": [{"source": "builtin", "name": "note", **tool}],
        "max_rounds": 20,
    }
    end = {"type": "end", "title": "End", "outputs": [
        {"variable": name, "value_selector": ["agent", name]} for name in ("text", "finish_reason")
    ]}  # fmt: skip
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
def calls(cluster: Cluster, tmp_path: Path) -> Path:
    """The ledger of the tool."""
    path = tmp_path.parent / f"{tmp_path.name}-calls"
    cluster.environment |= {PLUGIN: "tests.durability.ledger_tools", LEDGER: str(path)}
    return path


def start_agent(cast: Cast, ledger: FakeOpenAI, source: dict[str, Any]) -> Run:
    alice, team = cast.alice.principal, cast.team_a.pk
    url, secret = ledger.base_url, "sk-0123456789"
    create_provider(alice, team_id=team, name="ledger", base_url=url, secret=secret)
    imported = importing.import_document(alice, team_id=team, source=source, name="agent")
    return start_run(alice, workflow=imported.workflow)


def note_next(request: Request) -> Answer:
    """Call the tool with the next number, and answer after ten results."""
    count = count_results(request)
    if count == ROUNDS:
        return Answer("noted all")
    arguments = json.dumps({"n": count + 1})
    return Answer(calls=[Call("note", arguments, f"call-{count}")])


def count_results(request: Request) -> int:
    return sum(message["role"] == "tool" for message in request.body["messages"])


def read_ledger(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def count_calls(path: Path) -> Counter[str]:
    """Return how often the ledger has the call of each part."""
    return Counter(entry["key"].rsplit(":", 1)[-1] for entry in read_ledger(path))


def list_finished(cluster: Cluster, run: Run) -> list[str]:
    rows = cluster.db.execute(
        "select part from workflows_steppart where run_id = %s order by id", (run.pk,)
    ).fetchall()
    return [part for (part,) in rows]


def test_agent_killed_twice_finishes_without_repeating_a_finished_call(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI, calls: Path, held: Answer
) -> None:
    run = start_agent(cast, ledger, document())

    calls_when_finished: dict[str, int] = {}
    for kill, name in ((3, "one"), (7, "two")):
        # The worker dies anywhere between this call and the answer after the next one, which never comes.
        answer_from_now_on(
            ledger,
            lambda request, most=kill: (
                held if count_results(request) > most else note_next(request)
            ),
        )
        cluster.start(name)
        cluster.until(lambda count=kill: len(read_ledger(calls)) >= count)
        cluster.kill(name)
        calls_so_far = count_calls(calls)
        for part in list_finished(cluster, run):
            if ".tool." in part:
                # A call that an earlier kill interrupted was made twice before it finished.
                calls_when_finished.setdefault(part, calls_so_far[part])
        cluster.expire_leases()
    requests_before = len(ledger.requests)
    answer_from_now_on(ledger, note_next)
    cluster.start("three")
    row = cluster.until_ended(run)

    assert row["status"] == "succeeded"
    assert row["outputs"] == {"text": "noted all", "finish_reason": "stop"}
    # Between the two deaths calls were finished, so that no step was the death of both.
    assert (row["attempt"], row["kill_count"]) == (3, 1)
    cluster.check(run)
    noted, counts = read_ledger(calls), count_calls(calls)
    assert {part: counts[part] for part in calls_when_finished} == calls_when_finished
    assert len(calls_when_finished) >= 5
    # A call in whose middle the worker was killed is made again, with the same key.
    assert sorted(counts) == sorted(f"{number}.tool.1" for number in range(1, ROUNDS + 1))
    assert len(noted) <= ROUNDS + 2
    assert list_finished(cluster, run) == ["prompt"] + [
        part
        for number in range(1, ROUNDS + 2)
        for part in (f"{number}.model", *([f"{number}.tool.1"] if number <= ROUNDS else []))
    ]
    assert len(ledger.requests) - requests_before < ROUNDS
    logged = [data for _, name, data in cluster.events(run) if name == "agent_log"]
    assert len([data for data in logged if data["status"] == "completed"]) == 2 * ROUNDS + 2


def test_calls_of_one_answer_run_together_and_those_that_ended_are_not_repeated(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI, calls: Path
) -> None:
    quick, slow = (1, 2, 3), 4000  # which is held

    def note_four(request: Request) -> Answer:
        results = [each["content"] for each in request.body["messages"] if each["role"] == "tool"]
        if results:
            return Answer(" ".join(results))
        numbers = (slow, *quick)
        return Answer(calls=[Call("note", json.dumps({"n": n}), f"call-{n}") for n in numbers])

    answer_from_now_on(ledger, note_four)
    run = start_agent(cast, ledger, document())
    cluster.start("one")
    ended = [f"1.tool.{position}" for position in (2, 3, 4)]
    cluster.until(lambda: {*ended} <= {*list_finished(cluster, run)})
    cluster.kill("one")  # while the slow call, which is the first of the four, still runs
    cluster.expire_leases()
    open_gate(calls)
    cluster.start("two")
    row = cluster.until_ended(run)

    assert row["outputs"]["text"] == "noted 4000 noted 1 noted 2 noted 3"
    counts = Counter(entry["n"] for entry in read_ledger(calls))
    assert {number: counts[number] for number in quick} == dict.fromkeys(quick, 1)
    assert counts[slow] == 1
    cluster.check(run)


def test_call_waits_for_a_person_without_a_worker_and_is_made_once(
    cluster: Cluster, cast: Cast, ledger: FakeOpenAI, calls: Path
) -> None:
    def note_once(request: Request) -> Answer:
        results = [each for each in request.body["messages"] if each["role"] == "tool"]
        return Answer("done") if results else Answer(calls=[Call("note", '{"n": 1}')])

    answer_from_now_on(ledger, note_once)
    run = start_agent(cast, ledger, document(provider="careful"))
    cluster.start("one")
    cluster.until(lambda: cluster.row(run)["status"] == "paused")
    cluster.kill("one")
    [(wait, form, part)] = cluster.db.execute(
        "select id, form, part from workflows_runwait where run_id = %s", (run.pk,)
    ).fetchall()

    answer_wait(cast.alice.principal, run, wait_id=wait, values={}, action="allow")
    noted_before = read_ledger(calls)
    cluster.start("two")
    row = cluster.until_ended(run)

    assert (form["type"], form["tool"], part) == ("approval", "note", "1.tool.1")
    assert noted_before == []
    assert [entry["n"] for entry in read_ledger(calls)] == [1]
    assert row["outputs"]["text"] == "done"
    assert len(ledger.requests) == 2
    cluster.check(run)
