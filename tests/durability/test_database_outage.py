"""The database goes away inside a step: the run waits for it and goes on; nothing finished is done again."""

import time
from collections.abc import Callable, Iterator

import pytest

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support import servers
from tests.support.cast import Cast
from tests.support.cut_off import Relay
from tests.support.database import database_name
from workflows.models import Workflow
from workflows.services.runs.runs import start_run


@pytest.fixture
def relay(cluster: Cluster) -> Iterator[Relay]:
    """The workers reach the database through it; the test itself doesn't."""
    layout = servers.place()
    with Relay(layout.sockets / ".s.PGSQL.5432") as made:
        url = layout.build_database_url("mnemoflow_app", database_name())
        cluster.environment["DATABASE_URL"] = url.replace(str(layout.sockets), str(made.folder))
        yield made


def test_outage_inside_a_step_delays_the_run_and_repeats_nothing(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    relay: Relay,
) -> None:
    answer_from_now_on(ledger, Answer("done", delay=0.3))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm", "memory-store", "llm"))
    cluster.until(lambda: asked(ledger, "llm1"))

    relay.cut()
    cluster.until(lambda: "journal_waits" in cluster.story())
    relay.restore()
    row = cluster.until_ended(run)

    assert (row["status"], row["error"], row["attempt"]) == ("succeeded", "", 1)
    assert (asked(ledger, "llm1"), asked(ledger, "llm3")) == (1, 1)
    cluster.check(run)


def test_many_short_outages_fail_no_run_and_repeat_no_call(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    relay: Relay,
) -> None:
    answer_from_now_on(ledger, Answer("done", delay=0.05))
    kinds = ("llm", "memory-store", "memory-recall", "memory-store", "memory-recall", "llm")
    made = workflow(*kinds)
    cluster.start("one")
    runs = [start_run(cast.alice.principal, workflow=made) for _number in range(10)]
    cluster.until(lambda: asked(ledger, "llm1"))

    for _cut in range(8):
        relay.cut()
        time.sleep(0.15)
        relay.restore()
        time.sleep(0.25)
    rows = [cluster.until_ended(run) for run in runs]

    assert [(row["status"], row["error"], row["attempt"]) for row in rows] == [
        ("succeeded", "", 1)
    ] * len(runs)
    assert (asked(ledger, "llm1"), asked(ledger, "llm6")) == (len(runs), len(runs))
    for run in runs:
        cluster.check(run)
