"""A broker of the test's own, which is killed, forgets everything, or hands out messages in another order."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from config.embedded.valkey import Valkey
from tests.durability.conftest import Cluster, answer_from_now_on, asked, point_celery_at
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast
from workflows.models import Workflow
from workflows.services.runs.runs import start_run
from workflows.tasks import advance_run


@pytest.fixture
def broker(cluster: Cluster, settings: object) -> Iterator[Valkey]:
    folder = Path(f"/tmp/broker-{os.getpid()}")  # as often as not, a nursery for it is there
    shutil.rmtree(folder, ignore_errors=True)
    server = Valkey(folder / "data", folder / "valkey.sock", folder / "valkey.log")
    server.start()
    broker_url = f"redis+socket://{folder}/valkey.sock?virtual_host=0"
    cluster.environment |= {
        "BROKER_URL": broker_url, "REDIS_URL": f"unix://{folder}/valkey.sock?db=1",
    }  # fmt: skip
    with point_celery_at(broker_url):
        try:
            yield server
        finally:
            server.stop()
            shutil.rmtree(folder)


def kill(server: Valkey) -> None:
    process = server.find_process()
    assert process is not None
    process.kill()
    process.wait(60)


@pytest.mark.parametrize("forgets", [False, True])
def test_broker_killed_and_back_loses_no_run(
    cluster: Cluster, cast: Cast, workflow: Callable[..., Workflow], ledger: FakeOpenAI,
    broker: Valkey, gate: Event, forgets: bool,
) -> None:  # fmt: skip
    answer_from_now_on(ledger, Answer("done", gate=gate))
    made = workflow("llm", "template-transform", "llm")
    cluster.start("one")
    runs = [start_run(cast.alice.principal, workflow=made) for _number in range(5)]
    cluster.until(lambda: asked(ledger, "llm1"))

    kill(broker)
    gate.set()
    meanwhile = [start_run(cast.alice.principal, workflow=made) for _number in range(5)]
    runs += meanwhile
    # The worker goes on without a broker, and finds what nobody told it of.
    cluster.until(lambda: any(cluster.row(run)["status"] != "queued" for run in meanwhile))
    if forgets:
        for path in broker.data.rglob("*"):
            if path.is_file():
                path.unlink()
    broker.start()
    runs += [start_run(cast.alice.principal, workflow=made) for _number in range(5)]
    rows = [cluster.until_ended(run) for run in runs]

    assert [(row["status"], row["attempt"]) for row in rows] == [("succeeded", 1)] * 15
    assert (asked(ledger, "llm1"), asked(ledger, "llm3")) == (15, 15)
    for run in runs:
        cluster.check(run)


def test_messages_in_reverse_order_change_nothing(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    broker: Valkey,
) -> None:
    from redis import Redis

    answer_from_now_on(ledger, "done")
    made = workflow("llm", "template-transform")
    runs = [start_run(cast.alice.principal, workflow=made) for _number in range(10)]
    Redis.from_url(cluster.environment["REDIS_URL"].replace("db=1", "db=0")).flushdb()
    for run in reversed(runs):
        advance_run.apply_async((str(run.pk),))

    cluster.start("one", threads=2)
    rows = [cluster.until_ended(run) for run in runs]

    assert [(row["status"], row["attempt"]) for row in rows] == [("succeeded", 1)] * 10
    assert asked(ledger, "llm1") == 10
