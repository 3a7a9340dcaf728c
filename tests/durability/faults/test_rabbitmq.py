"""Runs whose messages go through quorum queues of a real RabbitMQ, while a worker is killed."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from accounts.tenancy import tenant
from config.embedded.ports import find_free_port
from tests.durability.conftest import Cluster, answer_from_now_on, asked
from tests.durability.web_server import Web, web
from tests.fakes.openai_server import Answer, FakeOpenAI
from tests.support.cast import Cast, make_key
from tests.support.waiting import until
from workflows.models import Run, Workflow


__all__ = ["web"]  # a fixture

pytestmark = pytest.mark.nightly

PROGRAMS = Path("/usr/lib/rabbitmq/bin")  # Debian's scripts in /usr/sbin change the user first
RUNS = 20
PATIENCE = 120.0  # seconds


@dataclass(frozen=True)
class RabbitMQ:
    """A server with its data in a folder, and ports of its own beside those of any other."""

    folder: Path
    port: int
    names_port: int  # of epmd, which knows the ports of Erlang's nodes

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self.names_port),
            "RABBITMQ_NODENAME": f"mnemoflow{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self.port + 20_000),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder / "logs"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "none"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "none"),
        }

    def control(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [PROGRAMS / "rabbitmqctl", "--quiet", *arguments],
            env=self.environment, cwd=self.folder, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip

    def list_queues(self) -> dict[str, tuple[str, int]]:
        """Return the type and the number of consumers of each queue."""
        columns = ("name", "type", "consumers")
        listed = self.control("list_queues", *columns, "--formatter", "json")
        assert listed.returncode == 0, listed.stderr
        return {row["name"]: (row["type"], row["consumers"]) for row in json.loads(listed.stdout)}


@pytest.fixture
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    if not (PROGRAMS / "rabbitmq-server").exists():
        pytest.skip("No RabbitMQ on this machine (on Debian: apt-get install rabbitmq-server).")
    port = find_free_port("127.0.0.1", 25_000 + os.getpid() % 997)
    server = RabbitMQ(
        tmp_path_factory.mktemp("rabbitmq"), port, find_free_port("127.0.0.1", port + 1_000)
    )
    (server.folder / "enabled_plugins").write_text("[].")
    with (server.folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [PROGRAMS / "rabbitmq-server"], env=server.environment, cwd=server.folder,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        until(lambda: is_up(server, process), seconds=PATIENCE)
        yield server
    finally:
        server.control("shutdown")
        process.kill()
        process.wait()
        # It stays for other nodes, of which there are none.
        subprocess.run(["epmd", "-kill"], env=server.environment, capture_output=True, check=False)


def is_up(server: RabbitMQ, process: "subprocess.Popen[bytes]") -> bool:
    assert process.poll() is None, (server.folder / "server.log").read_text()
    return not server.control("await_startup", "--timeout", "60").returncode


def test_runs_go_through_quorum_queues_while_a_worker_is_killed(
    cluster: Cluster,
    cast: Cast,
    workflow: Callable[..., Workflow],
    ledger: FakeOpenAI,
    rabbitmq: RabbitMQ,
    web: Web,
) -> None:
    cluster.environment["BROKER_URL"] = rabbitmq.url
    answer_from_now_on(ledger, Answer("done", delay=0.2))
    made = workflow("llm", "template-transform", "llm")
    _key, secret = make_key(cast, cast.alice)
    for name in ("one", "two"):
        cluster.start(name)
    web.start()
    cluster.until(lambda: rabbitmq.list_queues().get("mnemoflow") == ("quorum", 2), PATIENCE)

    ids = [web.start_run(made.pk, secret) for _number in range(RUNS)]
    with tenant([made.team_id]):
        runs = list(Run.objects.unscoped().filter(pk__in=ids))
    cluster.until(lambda: asked(ledger, "llm1") > RUNS // 4)
    cluster.kill("one")
    rows = [cluster.until_ended(run, PATIENCE) for run in runs]

    assert [(row["status"], row["error"]) for row in rows] == [("succeeded", "")] * RUNS
    assert (
        RUNS <= asked(ledger, "llm3") <= RUNS + 8
    )  # those that the killed worker made are repeated
    for run in runs:
        cluster.check(run)
    queues = rabbitmq.list_queues()
    assert {queues["mnemoflow"][0], queues["upkeep"][0]} == {"quorum"}
