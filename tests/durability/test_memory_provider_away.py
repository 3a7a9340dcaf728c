"""The provider of working memory goes away inside a run: the run waits for it; what only its operator can mend fails it."""

from collections.abc import Callable, Iterator
from threading import Event

import pytest
from redis import Redis

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from config.embedded.valkey import Valkey
from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support import servers
from tests.support.cast import Cast
from tests.support.database import worker_name
from workflows.models import Workflow
from workflows.services.runs.runs import start_run


KINDS = ("llm", "memory-store", "memory-recall", "llm")


@pytest.fixture
def memory_server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """A Valkey of its own for the notes of runs; the broker and the bus are another one."""
    socket = servers.place().sockets / f"memory-{worker_name()}.sock"
    home = tmp_path_factory.mktemp("memory")
    server = Valkey(home / "data", socket, home / "valkey.log")
    server.start()
    cluster.environment |= {"MEMORY_REDIS_URL": server.url, "MEMORY_PLACES": "run=redis"}
    yield server
    server.stop()


def test_run_waits_for_its_memory_provider_and_goes_on(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    memory_server: Valkey,
    gate: Event,
) -> None:
    answer_from_now_on(ledger, Answer("stored words", gate=gate))
    cluster.start("one")
    run = start_run(cast.alice.principal, workflow=workflow(*KINDS))
    cluster.until(lambda: asked(ledger, "llm1"))

    memory_server.stop()
    gate.set()
    cluster.until(lambda: cluster.count_said("memory_provider_away") > 2)
    status_meanwhile = cluster.row(run)["status"]
    memory_server.start()
    row = cluster.until_ended(run)

    assert status_meanwhile == "running"
    assert (row["status"], row["error"], row["attempt"]) == ("succeeded", "", 1)
    assert "stored words" in row["outputs"]["memory-recall3"]
    assert (asked(ledger, "llm1"), asked(ledger, "llm4")) == (1, 1)
    with tenant([run.team_id]):
        assert not AuditEntry.objects.unscoped().filter(action="memory.refused").exists()
    cluster.check(run)


def test_memory_provider_that_rejects_us_fails_the_run_with_its_name(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    memory_server: Valkey,
) -> None:
    with Redis.from_url(memory_server.url) as operator:
        operator.config_set("requirepass", "changed")
    cluster.start("one")

    run = start_run(cast.alice.principal, workflow=workflow(*KINDS))
    row = cluster.until_ended(run)

    assert (row["status"], row["error_node"]) == ("failed", "memory-store2")
    assert row["error"] == (
        "The memory provider redis answered with an error; the server's log says which."
    )
    assert cluster.count_said("AuthenticationError")
    cluster.check(run)
