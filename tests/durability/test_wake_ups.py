"""Messages may come twice, never or late; the row decides."""

from collections.abc import Callable

from redis import Redis

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Workflow
from workflows.services.runs.runs import cancel_run, start_run
from workflows.tasks import advance_run


def test_message_delivered_four_times_runs_once(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, Answer("done", delay=0.1))
    run = start_run(cast.alice.principal, workflow=workflow("llm", "llm"))
    for _ in range(3):
        advance_run.apply_async((str(run.pk),))

    cluster.start("one")
    cluster.start("two")
    row = cluster.until_ended(run)

    assert (row["status"], row["attempt"]) == ("succeeded", 1)
    assert (asked(ledger, "llm1"), asked(ledger, "llm2")) == (1, 1)
    cluster.check(run)


def test_flushed_broker_delays_a_run_and_loses_nothing(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    run = start_run(cast.alice.principal, workflow=workflow("template-transform"))
    Redis.from_url(cluster.environment["REDIS_URL"]).flushdb()

    cluster.start("one")
    row = cluster.until_ended(run)

    assert row["status"] == "succeeded"
    cluster.check(run)


def test_run_without_any_broker_is_found_by_looking(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    gone = "redis+socket:///nonexistent/valkey.sock"
    cluster.environment |= {"BROKER_URL": gone, "REDIS_URL": "unix:///nonexistent/valkey.sock"}
    run = start_run(cast.alice.principal, workflow=workflow("llm"))

    cluster.start("one")
    row = cluster.until_ended(run)

    assert row["status"] == "succeeded"
    cluster.check(run)


def test_run_that_killed_three_workers_is_given_up_with_a_reason(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    other = workflow("template-transform")
    run = start_run(cast.alice.principal, workflow=other)
    cluster.db.execute(
        "update workflows_run set status = 'running', attempt = 3, kill_count = 2, worker = 'gone', "
        "started_at = now(), lease_until = now() - interval '1 s' where id = %s",
        (run.pk,),
    )
    healthy = start_run(cast.alice.principal, workflow=other)

    cluster.start("one")
    row = cluster.until_ended(run)

    assert row["status"] == "failed"
    assert "crashed three times" in row["error"]
    assert cluster.until_ended(healthy)["status"] == "succeeded"
    cluster.check(run)


def test_running_run_stops_within_a_second_of_being_cancelled(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    answer_from_now_on(ledger, Answer("a b c d e f g h i j k l m n o p", delay=0.5))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm"))
    cluster.until(lambda: asked(ledger, "llm1"))

    cancel_run(cast.alice.principal, run)
    cancel_run(cast.alice.principal, run)
    row = cluster.until_ended(run, seconds=5)

    assert row["status"] == "stopped"
    assert (row["finished_at"] - row["cancel_requested_at"]).total_seconds() < 1
    assert cluster.steps(run)[-1][:2] == ("llm1", "stopped")
    cluster.check(run)
