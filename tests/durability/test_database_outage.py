"""The database goes away inside a step: the run waits for it and goes on; nothing finished is done again."""

from collections.abc import Callable, Iterator
from threading import Event, Semaphore

import pytest

from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, FakeOpenAI, Request
from tests.support import servers
from tests.support.cast import Cast
from tests.support.cut_off import Relay
from tests.support.database import database_name
from tests.support.waiting import LIMIT
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
    gate: Event,
) -> None:
    answer_from_now_on(ledger, Answer("done", gate=gate))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm", "memory-store", "llm"))
    cluster.until(lambda: asked(ledger, "llm1"))

    relay.cut()
    gate.set()
    cluster.until(lambda: cluster.count_said("journal_waits"))
    relay.restore()
    row = cluster.until_ended(run)

    assert (row["status"], row["error"], row["attempt"]) == ("succeeded", "", 1)
    assert (asked(ledger, "llm1"), asked(ledger, "llm3")) == (1, 1)
    cluster.check(run)


@pytest.mark.parametrize(
    ("count", "outages"), [(5, 4), pytest.param(10, 8, marks=pytest.mark.nightly)]
)
def test_many_short_outages_fail_no_run_and_repeat_no_call(
    count: int,
    outages: int,
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    relay: Relay,
) -> None:
    """In each outage two model calls end, whose results have to be written.

    Each run is claimed before the first outage: a claim whose answer is lost is repeated as another attempt when its lease has
    ended.
    """
    ends_in_each = 2
    permits = Semaphore(0)
    answer_from_now_on(ledger, lambda request: wait_for_permit(permits, request))
    kinds = ("llm", "memory-store", "memory-recall", "memory-store", "memory-recall", "llm")
    made = workflow(*kinds)
    cluster.start("one", threads=2 * count)  # a team gets no more than its share of them
    runs = [start_run(cast.alice.principal, workflow=made) for _number in range(count)]
    cluster.until(lambda: all(cluster.events(run) for run in runs))

    for number in range(outages):
        calls = (number + 1) * ends_in_each
        cluster.until(lambda calls=calls: len(ledger.requests) >= calls)
        waits, commits = cluster.count_said("journal_waits"), cluster.count_commits()
        relay.cut()
        permits.release(ends_in_each)
        cluster.until(lambda waits=waits: cluster.count_said("journal_waits") > waits)
        relay.restore()
        cluster.until(lambda commits=commits: cluster.count_commits() > commits)
    permits.release(2 * count)
    rows = [cluster.until_ended(run) for run in runs]

    assert [(row["status"], row["error"], row["attempt"]) for row in rows] == [
        ("succeeded", "", 1)
    ] * count
    assert (asked(ledger, "llm1"), asked(ledger, "llm6")) == (count, count)
    for run in runs:
        cluster.check(run)


def wait_for_permit(permits: Semaphore, _request: Request) -> Answer:
    permits.acquire(timeout=LIMIT)
    return Answer("done")
