"""Messages may come twice, never or late; the row decides."""

import signal
from collections.abc import Callable
from datetime import timedelta

import pytest
from redis import Redis

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.factories.workflows import within
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.errors import RunNotParked
from workflows.models import Workflow
from workflows.services.runs.parked import continue_run, list_open_steps
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


def test_parked_run_is_continued_with_its_finished_steps_and_only_once(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
) -> None:
    answer_from_now_on(ledger, held)
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("template-transform", "llm"))
    cluster.until(lambda: asked(ledger, "llm2"))
    cluster.kill("one")
    # As if an earlier attempt had finished the first step, and an isolated worker had died over the second one.
    cluster.db.execute("update workflows_step set attempt = 0 where run_id = %s", (run.pk,))
    cluster.db.execute(
        "update workflows_run set kill_count = 2, worker = 'gone' where id = %s", (run.pk,)
    )
    event = '{"status": "failed", "outputs": {}, "error": "crashed", "error_node": null}'
    cluster.db.execute("select execution_park(%s, 'gone', 'crashed', %s)", (run.pk, event))
    parked = cluster.until_ended(run)
    with within(cast.alice):
        run.refresh_from_db()
        shown = (run.is_parked, list_open_steps(run))

    answer_from_now_on(ledger, Answer("done"))
    cluster.start("two")
    continue_run(cast.alice.principal, run)
    with pytest.raises(RunNotParked):
        continue_run(cast.alice.principal, run)
    row = cluster.until_ended(run)

    assert (parked["status"], parked["kill_count"], shown) == ("failed", 3, (True, ["llm2"]))
    assert (row["status"], row["kill_count"], row["error"]) == ("succeeded", 0, "")
    assert asked(ledger, "llm2") == 2
    assert "run_resumed" in [name for _seq, name, _data in cluster.events(run)]
    cluster.check(run)


@pytest.mark.timed
def test_running_run_stops_within_a_second_of_being_cancelled(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
) -> None:
    answer_from_now_on(ledger, held)
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm"))
    cluster.until(lambda: asked(ledger, "llm1"))

    cancel_run(cast.alice.principal, run)
    cancel_run(cast.alice.principal, run)
    row = cluster.until_ended(run)

    assert row["status"] == "stopped"
    assert row["finished_at"] - row["cancel_requested_at"] < timedelta(seconds=10)  # ten times
    assert cluster.steps(run)[-1][:2] == ("llm1", "stopped")
    cluster.check(run)


def test_worker_reports_that_it_is_there_until_it_stops(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    def list_workers() -> list[tuple[str]]:
        return cluster.db.execute("select name from workflows_worker").fetchall()

    cluster.start("one")
    # A worker that has received a message has come up wholly, with its handlers of signals.
    message = start_run(cast.alice.principal, workflow=workflow("template-transform"))
    advance_run.apply_async((str(message.pk),))
    cluster.until_ended(message)
    reported = cluster.until(list_workers)
    cluster.until(lambda: not Redis.from_url(cluster.environment["REDIS_URL"]).llen("mnemoflow"))
    cluster.signal(signal.SIGTERM)
    cluster.until(lambda: not list_workers())

    assert len(reported) == 1
