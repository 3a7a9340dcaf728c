"""PostgreSQL ends sessions, has no room, or takes too long: runs wait or say why, and never stay running for ever."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event

import pytest

from tests.durability.conftest import ENDED, Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from tests.support.servers import APPLICATION_NAME
from workflows.models import Workflow
from workflows.services.runs.runs import start_run


@contextmanager
def refuse_events(cluster: Cluster, state: str) -> Iterator[None]:
    """Let PostgreSQL refuse new events with this SQLSTATE, as a full disk would."""
    cluster.db.execute(
        "create or replace function refuse_events() returns trigger language plpgsql as "
        f"$$ begin raise exception 'no room' using errcode = '{state}'; end $$"
    )
    cluster.db.execute(
        "create trigger refuse_events before insert on workflows_runcommit "
        "for each row execute function refuse_events()"
    )
    try:
        yield
    finally:
        cluster.db.execute("drop trigger refuse_events on workflows_runcommit")
        cluster.db.execute("drop function refuse_events()")


def test_ended_sessions_fail_no_run_and_repeat_no_call(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI
) -> None:
    """The sessions end ten times, each time after another few commits."""
    answer_from_now_on(ledger, Answer("done"))
    made = workflow("llm", "memory-store", "memory-recall", "template-transform", "llm")
    cluster.start("one", threads=16)
    cluster.start("two", threads=16)
    runs = [start_run(cast.alice.principal, workflow=made) for _number in range(30)]
    dice = random.Random(7)

    for _round in range(10):
        count = cluster.count_commits() + dice.randint(1, 12)
        cluster.until(lambda count=count: cluster.count_commits() >= count or have_ended(cluster))
        cluster.db.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() "
            "and usename = 'mnemoflow_app' and application_name <> %s",
            (APPLICATION_NAME,),
        )
    rows = [cluster.until_ended(run) for run in runs]

    assert [(row["status"], row["error"]) for row in rows] == [("succeeded", "")] * 30
    assert (asked(ledger, "llm1"), asked(ledger, "llm5")) == (30, 30)
    for run in runs:
        cluster.check(run)


def have_ended(cluster: Cluster) -> bool:
    query = "select 1 from workflows_run where not (status = any(%s))"
    return cluster.db.execute(query, (list(ENDED),)).fetchone() is None


def test_run_waits_while_the_disk_is_full_and_goes_on(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
    gate: Event,
) -> None:
    answer_from_now_on(
        ledger, lambda request: held if request.last_message == "llm1" else Answer("done")
    )
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm", "template-transform", "llm"))
    cluster.until(lambda: asked(ledger, "llm1"))

    with refuse_events(cluster, "53100"):
        gate.set()
        cluster.until(lambda: cluster.count_said("journal_waits"))
    row = cluster.until_ended(run)

    assert (row["status"], row["attempt"]) == ("succeeded", 1)
    assert (asked(ledger, "llm1"), asked(ledger, "llm3")) == (1, 1)
    cluster.check(run)


@pytest.mark.parametrize(
    ("state", "said", "times"),
    [("57014", "journal_lost", 1), ("53200", "journal_waits", 4)],
    ids=["statement timeout", "out of memory"],
)
def test_run_that_cannot_be_written_is_taken_up_again_and_ends(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    held: Answer,
    gate: Event,
    state: str,
    said: str,
    times: int,
) -> None:
    answer_from_now_on(ledger, held)
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow("llm", "template-transform"))
    cluster.until(lambda: asked(ledger, "llm1"))

    with refuse_events(cluster, state):
        gate.set()
        cluster.until(lambda: cluster.count_said(said) >= times)
    cluster.expire_leases()
    row = cluster.until_ended(run)

    assert (row["status"], row["kill_count"] < 2) == ("succeeded", True)
    assert asked(ledger, "llm1") <= 2
    cluster.check(run)
