"""Runs that have ended are counted once, by day, workflow, caller and model."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from accounts.tenancy import tenant
from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast, Person
from workflows.execution.usage.counting import count_team
from workflows.execution.usage.numbers import Latencies, Numbers, estimate_percentile, get_bucket
from workflows.models import (
    ModelMapping,
    ModelProvider,
    ModelUsage,
    Run,
    RunUsage,
    RunWait,
    Step,
    StepPart,
    Workflow,
)
from workflows.services.usage.report import Selection, load_report, select_last_days


pytestmark = pytest.mark.django_db

DAY = date(2026, 3, 2)
MODEL = {"model": {"provider": "acme", "name": "big"}}


def make_ended(person: Person, workflow: Workflow, **fields: Any) -> Run:
    given = {"status": "succeeded", "elapsed": 2.0, "finished_at": datetime(2026, 3, 2, tzinfo=UTC)}
    run = make_run(person, workflow, **{**given, **fields})
    with tenant([run.team_id]):
        Run.objects.unscoped().filter(pk=run.pk).update(
            created_at=datetime(2026, 3, 2, 23, tzinfo=UTC)
        )
    return run


def add_step(run: Run, **fields: Any) -> None:
    given = {
        "node_key": "llm",
        "kind": "llm",
        "status": "succeeded",
        "inputs": MODEL,
        "elapsed": 1.0,
    }
    with tenant([run.team_id]):
        Step.objects.create(team_id=run.team_id, run=run, **{**given, **fields})


def add_call(run: Run, part: str, cost: float, **outputs: Any) -> None:
    with tenant([run.team_id]):
        StepPart.objects.create(
            team_id=run.team_id,
            run=run,
            node_key="agent",
            part=part,
            kind="agent-model",
            status="succeeded",
            outputs=outputs or {"usage": {"cost": cost, "provider": "acme"}},
            prompt_tokens=10,
            completion_tokens=2,
            elapsed=0.5,
        )


def load(person: Person, **filters: Any) -> Any:
    selection = Selection(person.team.pk, DAY, DAY, **filters)
    return load_report(
        person.principal, selection, ("workflow", "key", "person", "channel", "model")
    )


def test_runs_are_counted_once_with_their_model_calls(alice: Person) -> None:
    workflow = make_workflow(alice)
    run = make_ended(alice, workflow)
    usage = {"provider": "acme", "cost": 0.25}
    add_step(run, prompt_tokens=100, completion_tokens=20, outputs={"usage": usage})
    make_ended(alice, workflow, status="failed", elapsed=8.0)
    make_ended(alice, workflow, status="stopped", elapsed=90.0)
    make_run(alice, workflow)  # still queued

    counted = [count_team(alice.team.pk), count_team(alice.team.pk)]

    report = load(alice)
    total = report.total
    assert counted == [3, 0]
    assert (total.count, total.failed, total.stopped, total.error_rate) == (3, 1, 1, 0.5)
    assert (total.prompt_tokens, total.completion_tokens, total.cost) == (100, 20, 0.25)
    assert total.average_latency == 5.0
    assert report.by["workflow"] == {(workflow.pk,): total}
    assert report.by["person"] == {(str(alice.user.pk),): total}
    assert list(report.by["model"]) == [("acme", "big")]
    with tenant([alice.team.pk]):
        assert Run.objects.unscoped().get(pk=run.pk).cost == 0.25


def test_runs_and_calls_are_counted_by_channel(alice: Person) -> None:
    workflow = make_workflow(alice)
    for channel, cost in (("openai", 0.5), ("openai", 0.25), ("webhook", 1.0)):
        run = make_ended(alice, workflow, channel=channel)
        usage = {"provider": "acme", "cost": cost}
        add_step(run, prompt_tokens=10, completion_tokens=2, outputs={"usage": usage})
    make_ended(alice, workflow)  # from before channels were recorded

    report = load(alice)
    filtered = load(alice, channel="openai")

    assert {
        key: (row.count, row.tokens, row.cost) for key, row in report.by["channel"].items()
    } == {("openai",): (2, 24, 0.75), ("webhook",): (1, 12, 1.0), ("",): (1, 0, 0.0)}
    assert filtered.total == report.by["channel"]["openai",]
    assert filtered.by["model"]["acme", "big"].calls == 2


def test_calls_of_agents_and_sub_workflows_count_for_the_workflow_that_was_started(
    alice: Person,
) -> None:
    outer, inner = make_workflow(alice, "Outer"), make_workflow(alice, "Inner")
    parent = make_ended(alice, outer)
    child = make_ended(alice, inner, parent=parent, parent_key="k")
    add_step(parent, node_key="agent", kind="agent", prompt_tokens=99, completion_tokens=9)
    add_call(parent, "1.model", 0.5)
    add_call(child, "1.model", 1.0)

    report = load(alice)

    assert (report.total.count, report.total.calls, report.total.tokens) == (1, 2, 24)
    assert {key[0]: (row.count, row.cost) for key, row in report.by["workflow"].items()} == {
        outer.pk: (1, 1.5),
    }
    with tenant([alice.team.pk]):
        costs = dict(Run.objects.unscoped().values_list("pk", "cost"))
    assert costs == {parent.pk: 1.5, child.pk: 1.0}


def test_cost_of_a_child_that_ends_first_reaches_its_parent(alice: Person) -> None:
    workflow = make_workflow(alice)
    parent = make_run(alice, workflow, status="running")
    child = make_ended(alice, workflow, parent=parent, parent_key="k")
    add_call(child, "1.model", 0.5)

    count_team(alice.team.pk)

    with tenant([alice.team.pk]):
        row = Run.objects.unscoped().get(pk=parent.pk)
    assert (row.cost, row.is_counted) == (0.5, False)


def test_what_did_not_call_a_model_is_no_call(alice: Person) -> None:
    run = make_ended(alice, make_workflow(alice))
    add_step(run, node_key="a", prompt_tokens=5, reused_from=run.pk)
    add_step(run, node_key="b", kind="code", prompt_tokens=5)
    add_step(run, node_key="c")  # mocked
    add_step(run, node_key="d", status="failed")

    report = load(alice)

    assert (report.total.calls, report.total.tokens) == (1, 0)
    assert report.by["model"][("offline", "")].failed == 1


def test_model_of_a_memory_node_counts_if_it_was_asked(alice: Person) -> None:
    run = make_ended(alice, make_workflow(alice))
    asked = {"model": {"provider": "acme", "name": "a"}}
    usage = {"cost": 0.5}
    add_step(
        run,
        node_key="facts",
        kind="memory-store",
        prompt_tokens=9,
        inputs=asked,
        outputs={"__usage": usage},
    )
    add_step(run, node_key="rules", kind="memory-store")
    add_step(run, node_key="refused", kind="memory-store", status="failed")

    total = load(alice).total

    assert (total.calls, total.tokens, total.cost) == (1, 9, 0.5)


def test_reranking_counts_beside_the_question_for_what_to_search(alice: Person) -> None:
    run = make_ended(alice, make_workflow(alice))
    ranking = {"provider": "jina", "name": "r1", "usage": {"prompt_tokens": 30, "cost": 0.5}}
    add_step(
        run,
        kind="knowledge-retrieval",
        prompt_tokens=34,
        completion_tokens=1,
        inputs={"model": {"provider": "acme", "name": "small"}, "reranking": ranking},
        outputs={"__usage": {"cost": 0.25}},
    )
    add_step(run, node_key="plain", kind="knowledge-retrieval", inputs={"query": "x"})

    report = load(alice)

    assert {key: (row.calls, row.tokens, row.cost) for key, row in report.by["model"].items()} == {
        ("jina", "r1"): (1, 30, 0.5),
        ("acme", "small"): (1, 5, 0.25),
    }


def test_reranking_of_a_recall_is_a_call_of_its_model(alice: Person) -> None:
    run = make_ended(alice, make_workflow(alice))
    ranking = {"provider": "jina", "name": "r1", "usage": {"prompt_tokens": 30, "cost": 0.5}}
    inputs = {"query": "x", "reranking": ranking}
    add_step(run, kind="memory-recall", prompt_tokens=30, inputs=inputs)
    add_step(run, node_key="plain", kind="memory-recall", inputs={"query": "x"})

    report = load(alice)

    assert {key: (row.calls, row.tokens, row.cost) for key, row in report.by["model"].items()} == {
        ("jina", "r1"): (1, 30, 0.5),
    }


def connect(person: Person, name: str, model: str) -> ModelProvider:
    with tenant([person.team.pk]):
        return ModelProvider.objects.create(
            team=person.team,
            name=name,
            kind="openai_compatible",
            base_url="https://models.example/v1",
            default_model=model,
        )


def map_to(person: Person, provider: str, model: str, target: ModelProvider, name: str) -> None:
    with tenant([person.team.pk]):
        ModelMapping.objects.create(
            team=person.team, provider=provider, model=model, target=target, target_model=name
        )


def asks(provider: str, name: str, **more: Any) -> dict[str, Any]:
    return {"model": {"provider": provider, "name": name, **more}}


def test_calls_count_for_the_model_that_answered(alice: Person) -> None:
    connect(alice, "Acme", "small")
    zenith = connect(alice, "zenith", "medium")
    map_to(alice, "default", "", zenith, "")
    map_to(alice, "lost", "x", zenith, "large")
    run = make_ended(alice, make_workflow(alice))
    answered = asks("zenith", "large", requested={"provider": "lost", "name": "x"})
    add_step(run, node_key="a", prompt_tokens=1, inputs=answered)  # the mapping answered
    add_step(run, node_key="b", prompt_tokens=1, inputs=asks("langgenius/acme/acme", "big"))
    add_step(
        run, node_key="c", prompt_tokens=1, inputs=asks("gone", "old")
    )  # answered, and is gone
    add_step(run, node_key="d", prompt_tokens=1, inputs=asks("offline", "offline"))

    assert {key: row.calls for key, row in load(alice).by["model"].items()} == {
        ("zenith", "large"): 1,
        ("acme", "big"): 1,
        ("gone", "old"): 1,
        ("offline", ""): 1,
    }


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (asks("default", ""), ("zenith", "medium")),
        (asks("", ""), ("zenith", "medium")),
        (asks("lost", "x"), ("zenith", "large")),
        (asks("lost", "y"), ("zenith", "medium")),
        (asks("acme", "big"), ("acme", "big")),
    ],
)
def test_call_that_failed_early_counts_for_the_model_that_would_have_answered(
    alice: Person, model: dict[str, Any], expected: tuple[str, str]
) -> None:
    connect(alice, "acme", "small")
    zenith = connect(alice, "zenith", "medium")
    map_to(alice, "default", "", zenith, "")
    map_to(alice, "lost", "x", zenith, "large")
    add_step(make_ended(alice, make_workflow(alice)), status="failed", inputs=model)

    assert list(load(alice).by["model"]) == [expected]


def test_call_of_an_agent_counts_for_the_model_that_its_part_records(alice: Person) -> None:
    run = make_ended(alice, make_workflow(alice))
    add_step(run, node_key="agent", kind="agent", inputs=asks("acme", "big"))
    add_call(run, "1.model", 0.1, usage={}, model={"provider": "zenith", "name": "large"})

    assert list(load(alice).by["model"]) == [("zenith", "large")]


def test_waiting_is_no_latency(alice: Person) -> None:
    run = make_ended(alice, make_workflow(alice), elapsed=9000.0)
    with tenant([alice.team.pk]):
        RunWait.objects.create(team_id=run.team_id, run=run, node_key="ask", form={})

    assert load(alice).total == Numbers(count=1)


def test_usage_outlives_its_runs(alice: Person) -> None:
    make_ended(alice, make_workflow(alice))
    count_team(alice.team.pk)

    with tenant([alice.team.pk]):
        Run.objects.unscoped().delete()

    assert load(alice).total.count == 1


def test_members_see_their_own_usage_and_admins_the_teams(cast: Cast) -> None:
    workflow = make_workflow(cast.alice)
    make_ended(cast.alice, workflow)
    make_ended(cast.bob, workflow)
    make_ended(cast.bob, workflow, subject=f"ben@{cast.bob.user.pk}")

    seen = {
        person: load(getattr(cast, person)).total.count for person in ("alice", "ada", "bob", "vic")
    }

    assert seen == {"alice": 3, "ada": 3, "bob": 2, "vic": 0}
    assert load(cast.ada, is_own=True).total.count == 0
    assert load(cast.alice, subject=str(cast.bob.user.pk)).total.count == 2


def test_filters_by_model_report_calls(alice: Person) -> None:
    run = make_ended(alice, make_workflow(alice))
    usage = {"provider": "acme"}
    add_step(run, prompt_tokens=7, outputs={"usage": usage})
    add_step(
        run, node_key="two", prompt_tokens=1, inputs={"model": {"provider": "acme", "name": "b"}}
    )

    report = load(alice, model=("acme", "big"))

    assert report.is_of_calls
    assert (report.total.count, report.total.tokens, report.total.unpriced_calls) == (1, 7, 1)


def test_every_day_is_reported(alice: Person) -> None:
    report = load_report(alice.principal, select_last_days(alice.team.pk, 7))

    assert list(report.by_day.values()) == [Numbers()] * 7


def test_usage_of_another_team_is_not_shown(cast: Cast) -> None:
    make_ended(cast.alice, make_workflow(cast.alice))
    count_team(cast.team_a.pk)

    with tenant([cast.carol.team.pk]):
        assert not RunUsage.objects.unscoped().exists()
        assert not ModelUsage.objects.unscoped().exists()


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.011, 1.0, 7.3, 1e9])
def test_percentiles_are_close(seconds: float) -> None:
    estimate = estimate_percentile({get_bucket(seconds): Latencies(3, seconds * 3)}, 0.95)

    assert estimate is not None
    if 0.01 < seconds < 1e5:
        assert abs(estimate - seconds) <= seconds * 0.25
    assert estimate_percentile({}, 0.5) is None


def test_latency_of_a_single_run_is_its_own_in_every_percentile(alice: Person) -> None:
    make_ended(alice, make_workflow(alice), elapsed=0.446)

    total = load(alice).total

    assert (total.median_latency, total.p95_latency, total.average_latency) == (0.446,) * 3


def test_average_of_a_bucket_is_its_median() -> None:
    buckets = {get_bucket(1.0): Latencies(4, 4 * 1.02)}

    assert estimate_percentile(buckets, 0.5) == pytest.approx(1.02)
