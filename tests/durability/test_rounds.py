"""kill -9 in the middle of a round: finished rounds and finished steps of a round are not done again."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Run, Workflow
from workflows.services.catalog import importing
from workflows.services.runs.runs import start_run


def llm(node_id: str, prompt: str, parent: str) -> dict[str, Any]:
    return {
        "id": node_id,
        "parentId": parent,
        "data": {
            "type": "llm",
            "title": node_id,
            "model": {"provider": "ledger", "name": "small", "mode": "chat"},
            "prompt_template": [{"role": "user", "text": prompt}],
        },
    }


def rounds_of_two(items: int, **data: Any) -> dict[str, Any]:
    """start → an iteration whose rounds ask two models, one after the other → end."""
    listed = [f"item{number}" for number in range(items)]
    return {
        "version": "0.1.0",
        "conversation_variables": [{"name": "v", "type": "array[string]", "default": listed}],
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "", "variables": []}},
            {"id": "it", "data": {"type": "iteration", "title": "", "start_node_id": "begin",
                                  "iterator_selector": ["conversation", "v"],
                                  "output_selector": ["second", "text"], **data}},
            {"id": "begin", "parentId": "it", "data": {"type": "iteration-start", "title": ""}},
            llm("first", "first {{#it.item#}}", "it"),
            llm("second", "second {{#it.item#}}", "it"),
            {"id": "end", "data": {"type": "end", "title": "", "outputs": [
                {"variable": "o", "value_selector": ["it", "output"]}]}},
        ],
        "edges": [
            {"id": f"e{n}", "source": source, "target": target}
            for n, (source, target) in enumerate(
                [("start", "it"), ("begin", "first"), ("first", "second"), ("it", "end")]
            )
        ],
    }  # fmt: skip


Make = Callable[[dict[str, Any]], Workflow]


@pytest.fixture
def make(cast: Cast, workflow: Callable[..., Workflow]) -> Make:
    """``workflow`` has set up the ledger's models."""

    def imported(tree: dict[str, Any]) -> Workflow:
        return importing.import_document(
            cast.alice.principal, team_id=cast.team_a.pk, source=tree, name="rounds"
        ).workflow

    return imported


def steps(cluster: Cluster, run: Run) -> Counter[tuple[str, tuple[int, ...]]]:
    rows = cluster.db.execute(
        "select node_key, rounds from workflows_step where run_id = %s and status = 'succeeded'",
        (run.pk,),
    ).fetchall()
    return Counter((node, tuple(rounds)) for node, rounds in rows)


def check(cluster: Cluster, run: Run) -> None:
    events = cluster.events(run)
    assert [seq for seq, _name, _data in events] == list(range(1, len(events) + 1))
    assert events[-1][1] == "run_finished"
    assert set(steps(cluster, run).values()) == {1}


@pytest.mark.parametrize("parallel", [False, True])
def test_killed_in_a_round_goes_on_in_it(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI, held: Answer, parallel: bool
) -> None:
    answer_from_now_on(
        ledger, lambda request: held if request.last_message == "second item2" else "done"
    )
    cluster.start("one")
    made = make(rounds_of_two(4, is_parallel=parallel, parallel_nums=2))
    run = start_run(cast.alice.principal, workflow=made)
    cluster.until(lambda: asked(ledger, "second item2"))
    done = {("second", (0,)), ("second", (1,)), ("first", (2,))}
    cluster.until(lambda: done <= {*steps(cluster, run)})

    cluster.kill("one")
    before = steps(cluster, run)
    cluster.expire_leases()
    answer_from_now_on(ledger, "done")
    cluster.start("two")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"o": ["done"] * 4})
    assert before[("second", (0,))] == before[("second", (1,))] == 1
    for node, rounds in before:
        if node in ("first", "second"):
            assert asked(ledger, f"{node} item{rounds[0]}") == 1
    assert asked(ledger, "second item2") == 2
    check(cluster, run)
    begun = [data["index"] for _seq, name, data in cluster.events(run) if name == "iteration_next"]
    assert sorted(begun) == [0, 1, 2, 3]
    lost = [
        data for _seq, _name, data in cluster.events(run) if data.get("error_type") == "WorkerLost"
    ]
    assert ("second", [2]) in [(data["node"], data["rounds"]) for data in lost]
    assert [
        data for data in lost if data["node"] != "it" and len(data.get("rounds", [])) != 1
    ] == []
    told = [name for _seq, name, _data in cluster.events(run)]
    assert told.count("iteration_started") == told.count("iteration_completed") == 1


@pytest.mark.parametrize(
    ("finished", "total"), [(5, 8), pytest.param(57, 100, marks=pytest.mark.nightly)]
)
def test_killed_after_some_rounds_of_many_runs_only_the_rest(
    cluster: Cluster,
    cast: Cast,
    make: Make,
    ledger: FakeOpenAI,
    held: Answer,
    finished: int,
    total: int,
) -> None:
    last = f"second item{finished}"
    answer_from_now_on(ledger, lambda request: held if request.last_message == last else "done")
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=make(rounds_of_two(total)))
    cluster.until(lambda: asked(ledger, last))

    cluster.kill("one")
    cluster.expire_leases()
    answer_from_now_on(ledger, "done")
    cluster.start("two")
    row = cluster.until_ended(run)

    assert (row["status"], row["outputs"]) == ("succeeded", {"o": ["done"] * total})
    times = Counter(
        asked(ledger, f"{node} item{n}") for node in ("first", "second") for n in range(total)
    )
    # The one that was on its way is asked again, and the one before it if its commit didn't make it.
    assert times[1] >= 2 * total - 2
    assert times[1] + times[2] == 2 * total
    assert asked(ledger, last) == 2
    check(cluster, run)


def test_steps_of_rounds_count_and_the_server_says_how_many_a_run_may_take(
    cluster: Cluster, cast: Cast, make: Make, ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, "done")
    cluster.environment["RUN_MAX_STEPS"] = "12"
    cluster.start("one")

    few = cluster.until_ended(start_run(cast.alice.principal, workflow=make(rounds_of_two(4))))
    many = cluster.until_ended(start_run(cast.alice.principal, workflow=make(rounds_of_two(9))))

    assert (few["status"], few["error"]) == ("succeeded", "")
    assert (many["status"], many["error"]) == (
        "failed",
        "The run took more than 12 steps; raise the server's RUN_MAX_STEPS to allow more",
    )
