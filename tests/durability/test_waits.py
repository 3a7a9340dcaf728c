"""Runs that wait for a person or a time, through real workers."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.durability.children import llm as build_llm
from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.durability.test_debugging import made
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.engine.errors import InputRejected
from workflows.errors import RunNotPaused, WaitClosed
from workflows.models import Run, RunWait, Workflow
from workflows.services.debugging.options import RunOptions
from workflows.services.debugging.pauses import resume_run
from workflows.services.debugging.start import start_run_with_options
from workflows.services.runs import waits
from workflows.services.runs.runs import cancel_run, start_run


def ask(node: str = "ask", **changes: Any) -> dict[str, Any]:
    return {
        "id": node,
        "data": {
            "type": "human-input",
            "title": node,
            "form_content": "Your name? {{#$output.name#}}",
            "inputs": [{"type": "text-input", "output_variable_name": "name"}],
            "user_actions": [{"id": "send", "title": "Send"}, {"id": "skip", "title": "Skip"}],
            "timeout": 36,
            "timeout_unit": "hour",
            **changes,
        },
    }


def code(node: str, text: str) -> dict[str, Any]:
    return {
        "id": node,
        "data": {
            "type": "code",
            "title": node,
            "code_language": "python3",
            "code": f"def main():\n    return {{'o': {text!r}}}",
            "variables": [],
            "outputs": {"o": {"type": "string"}},
        },
    }


def delay(node: str = "delay", **data: Any) -> dict[str, Any]:
    return {"id": node, "data": {"type": "delay", "title": node, **data}}


def llm(node: str) -> dict[str, Any]:
    """A model of the ledger, which is asked the name of the node."""
    return {"id": node, "data": build_llm(node)}


def graph(
    nodes: Sequence[Mapping[str, Any]], edges: Sequence[str], **outputs: Sequence[str]
) -> dict[str, Any]:
    """A workflow of these nodes. An edge is written ``source[:handle]>target``."""
    lines = [edge.split(">") for edge in edges]
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "waits", "mode": "workflow"},
        "workflow": {
            "graph": {
                "nodes": [
                    {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
                    *nodes,
                    {
                        "id": "end",
                        "data": {
                            "type": "end",
                            "title": "End",
                            "outputs": [
                                {"variable": name, "value_selector": list(selector)}
                                for name, selector in outputs.items()
                            ],
                        },
                    },
                ],
                "edges": [
                    {
                        "id": f"e{number}",
                        "source": source.partition(":")[0],
                        "sourceHandle": source.partition(":")[2] or "source",
                        "target": target,
                        "targetHandle": "target",
                    }
                    for number, (source, target) in enumerate(lines)
                ],
            }
        },
    }


SIMPLE = graph(
    [code("before", "x"), ask(), code("late", "late")],
    [
        "start>before",
        "before>ask",
        "ask:send>end",
        "ask:skip>end",
        "ask:__timeout>late",
        "late>end",
    ],
    name=["ask", "name"],
    way=["ask", "__action_id"],
    late=["late", "o"],
)


def begin(cast: Cast, workflow: Workflow) -> Run:
    return start_run(cast.alice.principal, workflow=workflow, inputs={})


def until_paused(cluster: Cluster, run: Run) -> dict[str, Any]:
    cluster.until(lambda: cluster.row(run)["status"] == "paused")
    return cluster.row(run)


def open_waits(cast: Cast, run: Run) -> dict[str, RunWait]:
    with tenant([run.team_id]):
        rows = waits.list_waits(cast.alice.principal, run).filter(answered_at__isnull=True)
        return {wait.node_key: wait for wait in rows}


def answer(cast: Cast, run: Run, node: str = "ask", action: str = "send", **values: Any) -> None:
    wait = open_waits(cast, run)[node]
    with tenant([run.team_id]):
        waits.answer_wait(cast.alice.principal, run, wait_id=wait.pk, values=values, action=action)


def names(cluster: Cluster, run: Run) -> list[str]:
    return [name for _seq, name, _data in cluster.events(run)]


def test_question_frees_the_worker_and_the_answer_continues(cluster: Cluster, cast: Cast) -> None:
    workflow = made(cast, SIMPLE)
    cluster.start()
    run = begin(cast, workflow)

    row = until_paused(cluster, run)

    assert (row["worker"], row["lease_until"]) == ("", None)
    assert row["pause"]["reason"] == "input"
    assert row["wake_at"] is not None
    assert [name for name in names(cluster, run) if name.startswith("human")] == [
        "human_input_required"
    ]

    answer(cast, run, name="Mia")
    end = cluster.until_ended(run)

    assert end["status"] == "succeeded"
    assert end["outputs"] == {"name": "Mia", "way": "send", "late": None}
    assert names(cluster, run).count("run_resumed") == 1
    assert cluster.steps(run)[1][:2] == ("before", "succeeded")
    cluster.check(run)


def test_answer_is_refused_a_second_time_and_when_it_does_not_fit(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = made(cast, SIMPLE)
    cluster.start()
    run = begin(cast, workflow)
    until_paused(cluster, run)
    wait = open_waits(cast, run)["ask"]

    with tenant([run.team_id]):
        with pytest.raises(InputRejected, match="action"):
            waits.answer_wait(cast.alice.principal, run, wait_id=wait.pk, values={}, action="no")
        waits.answer_wait(cast.alice.principal, run, wait_id=wait.pk, values={}, action="skip")
        with pytest.raises(WaitClosed, match="already"):
            waits.answer_wait(cast.alice.principal, run, wait_id=wait.pk, values={}, action="send")

    assert cluster.until_ended(run)["outputs"]["way"] == "skip"
    cluster.check(run)


def test_worker_killed_between_question_and_answer_loses_nothing(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = made(cast, SIMPLE)
    cluster.start("one")
    run = begin(cast, workflow)
    until_paused(cluster, run)
    cluster.kill("one")

    answer(cast, run, name="Mia")
    cluster.start("two")

    assert cluster.until_ended(run)["outputs"]["name"] == "Mia"
    assert cluster.row(run)["kill_count"] == 0
    cluster.check(run)


def test_nobody_answers_and_the_run_goes_on_at_the_timeout(cluster: Cluster, cast: Cast) -> None:
    workflow = made(cast, SIMPLE)
    cluster.start()
    run = begin(cast, workflow)
    row = until_paused(cluster, run)
    wait = open_waits(cast, run)["ask"]

    cluster.let_time_pass(run, "-1 second")
    end = cluster.until_ended(run)

    assert wait.due_at == row["wake_at"]
    assert timedelta(hours=36) <= row["wake_at"] - row["started_at"] < timedelta(hours=37)
    assert end["outputs"] == {"name": None, "way": "__timeout", "late": "late"}
    with tenant([run.team_id]), pytest.raises(WaitClosed, match="time is up"):
        waits.answer_wait(cast.alice.principal, run, wait_id=wait.pk, values={}, action="send")
    cluster.check(run)


def test_delay_wakes_the_run_on_time(cluster: Cluster, cast: Cast) -> None:
    """How soon after its time a run goes on is the business of ``test_timers.py``."""
    workflow = made(
        cast,
        graph(
            [delay(amount=6, unit="seconds")],
            ["start>delay", "delay>end"],
            until=["delay", "until"],
        ),
    )
    cluster.start()
    run = begin(cast, workflow)

    row = until_paused(cluster, run)
    left = read_time_left(cluster, run)
    end = cluster.until_ended(run)

    assert row["pause"]["reason"] == "time"
    assert left is None or left <= timedelta(seconds=6)
    assert row["wake_at"] - row["started_at"] >= timedelta(seconds=6)
    assert end["queued_at"] >= row["wake_at"]
    assert "human_input_required" not in names(cluster, run)
    cluster.check(run)


def read_time_left(cluster: Cluster, run: Run) -> timedelta | None:
    """Return how long the run still waits, by the clock of the database; None if it goes on already."""
    query = "select wake_at - clock_timestamp() from workflows_run where id = %s"
    row: Any = cluster.db.execute(query, (run.pk,)).fetchone()
    left: timedelta | None = row[0]
    return left


TWO = graph(
    [ask("first"), ask("second")],
    ["start>first", "start>second", "first:send>end", "second:send>end"],
    first=["first", "name"],
    second=["second", "name"],
)


def test_two_questions_at_once_are_answered_in_any_order(cluster: Cluster, cast: Cast) -> None:
    workflow = made(cast, TWO)
    cluster.start()
    run = begin(cast, workflow)
    until_paused(cluster, run)
    before = open_waits(cast, run)["first"].due_at

    answer(cast, run, "second", name="Two")
    cluster.until(lambda: ("second", "succeeded") in [step[:2] for step in cluster.steps(run)])
    until_paused(cluster, run)

    assert list(open_waits(cast, run)) == ["first"]
    assert open_waits(cast, run)["first"].due_at == before
    assert names(cluster, run).count("human_input_required") == 2

    answer(cast, run, "first", name="One")

    assert cluster.until_ended(run)["outputs"] == {"first": "One", "second": "Two"}
    cluster.check(run)


BESIDE_A_MODEL = graph(
    [ask(), llm("busy")],
    ["start>ask", "start>busy", "ask:send>end", "busy>end"],
    name=["ask", "name"],
)


def test_answer_while_another_branch_runs_is_not_lost(
    cluster: Cluster, cast: Cast, models: None, ledger: FakeOpenAI, held: Answer, gate: Event
) -> None:
    answer_from_now_on(ledger, held)
    workflow = made(cast, BESIDE_A_MODEL)
    cluster.start()
    run = begin(cast, workflow)
    cluster.until(lambda: "ask" in open_waits(cast, run))

    answer(cast, run, name="Mia")

    assert cluster.row(run)["status"] == "running"
    gate.set()
    assert cluster.until_ended(run)["outputs"] == {"name": "Mia"}
    assert names(cluster, run).count("human_input_required") == 1
    cluster.check(run)


def test_worker_killed_while_another_branch_runs_keeps_the_answer(
    cluster: Cluster, cast: Cast, models: None, ledger: FakeOpenAI, held: Answer
) -> None:
    answer_from_now_on(ledger, held)
    workflow = made(cast, BESIDE_A_MODEL)
    cluster.start("one")
    run = begin(cast, workflow)
    cluster.until(lambda: "ask" in open_waits(cast, run) and asked(ledger, "busy"))
    answer(cast, run, name="Mia")
    cluster.kill("one")
    cluster.expire_leases()

    answer_from_now_on(ledger, "done")
    cluster.start("two")

    assert cluster.until_ended(run)["outputs"] == {"name": "Mia"}
    assert cluster.row(run)["attempt"] == 2
    cluster.check(run)


def test_every_round_of_a_container_asks(cluster: Cluster, cast: Cast) -> None:
    inner = {"isInIteration": True, "iteration_id": "each"}
    nodes = [
        {
            "id": "list",
            "data": {
                **code("list", "")["data"],
                "code": "def main():\n    return {'o': ['a', 'b', 'c']}",
                "outputs": {"o": {"type": "array[string]"}},
            },
        },
        {
            "id": "each",
            "data": {
                "type": "iteration",
                "title": "Each",
                "iterator_selector": ["list", "o"],
                "output_selector": ["ask", "name"],
                "start_node_id": "eachstart",
                "is_parallel": True,
                "parallel_nums": 2,
            },
        },
        {"id": "eachstart", "parentId": "each", "data": {"type": "iteration-start", **inner}},
        {**ask(), "parentId": "each", "data": {**ask()["data"], **inner}},
    ]
    workflow = made(
        cast,
        graph(
            nodes,
            ["start>list", "list>each", "eachstart>ask", "each>end"],
            names=["each", "output"],
        ),
    )
    cluster.start()
    run = begin(cast, workflow)

    for number in range(3):
        rounds = cluster.until(lambda: _list_open_rounds(cast, run))
        with tenant([run.team_id]):
            waits.answer_wait(
                cast.alice.principal,
                run,
                wait_id=rounds[0].pk,
                values={"name": f"{rounds[0].rounds[0]}"},
                action="send",
            )
        assert number == len(_list_answered(cast, run)) - 1

    assert cluster.until_ended(run)["outputs"] == {"names": ["0", "1", "2"]}


def _list_open_rounds(cast: Cast, run: Run) -> list[RunWait]:
    with tenant([run.team_id]):
        return list(waits.list_waits(cast.alice.principal, run).filter(answered_at__isnull=True))


def _list_answered(cast: Cast, run: Run) -> list[RunWait]:
    with tenant([run.team_id]):
        return list(waits.list_waits(cast.alice.principal, run).filter(answered_at__isnull=False))


def test_breakpoint_and_question_together_each_wait_for_their_person(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = made(
        cast,
        graph(
            [ask(), code("other", "x")],
            ["start>ask", "start>other", "ask:send>end", "other>end"],
            name=["ask", "name"],
        ),
    )
    cluster.start()
    run = start_run_with_options(
        cast.alice.principal,
        RunOptions(breakpoints=("other",)),
        workflow=workflow,
        inputs={},
    )
    row = until_paused(cluster, run)
    assert (row["pause"]["reason"], row["wake_at"]) == ("breakpoint", None)

    answer(cast, run, name="Mia")

    assert cluster.row(run)["status"] == "paused"
    with tenant([run.team_id]):
        resume_run(cast.alice.principal, run, mode="continue")
    assert cluster.until_ended(run)["outputs"] == {"name": "Mia"}
    cluster.check(run)


def test_debugged_run_that_waits_for_an_answer_is_not_resumed_by_hand(
    cluster: Cluster, cast: Cast
) -> None:
    workflow = made(cast, SIMPLE)
    cluster.start()
    run = start_run_with_options(
        cast.alice.principal, RunOptions(step=True), workflow=workflow, inputs={}
    )
    until_paused(cluster, run)
    for reason in ("step", "step", "input"):
        cluster.until(lambda: cluster.row(run)["status"] == "paused")
        assert cluster.row(run)["pause"]["reason"] == reason
        if reason == "step":
            with tenant([run.team_id]):
                resume_run(cast.alice.principal, run, mode="step")

    with tenant([run.team_id]), pytest.raises(RunNotPaused):
        resume_run(cast.alice.principal, run, mode="continue")
    answer(cast, run, name="Mia")

    cluster.until(
        lambda: (
            cluster.row(run)["status"] == "paused" and cluster.row(run)["pause"]["reason"] == "step"
        )
    )
    assert cluster.row(run)["pause"]["nodes"] == ["end"]


def test_paused_run_is_stopped_at_once(cluster: Cluster, cast: Cast) -> None:
    workflow = made(cast, SIMPLE)
    cluster.start()
    run = begin(cast, workflow)
    until_paused(cluster, run)
    wait = open_waits(cast, run)["ask"]

    with tenant([run.team_id]):
        cancel_run(cast.alice.principal, run)
        with pytest.raises(WaitClosed):
            waits.answer_wait(cast.alice.principal, run, wait_id=wait.pk, values={}, action="send")

    assert cluster.row(run)["status"] == "stopped"
    assert cluster.row(run)["wake_at"] is None
    cluster.check(run)


def test_days_of_waiting_do_not_count_towards_the_time_limit(cluster: Cluster, cast: Cast) -> None:
    workflow = made(cast, SIMPLE)
    cluster.start()
    run = begin(cast, workflow)
    until_paused(cluster, run)
    cluster.db.execute(
        "update workflows_run set started_at = started_at - interval '3 days',"
        " pause = (pause::jsonb || jsonb_build_object('at', (pause->>'at')::float - 259200))::json"
        " where id = %s",
        (run.pk,),
    )

    answer(cast, run, name="Mia")

    assert cluster.until_ended(run)["status"] == "succeeded"
    cluster.check(run)
