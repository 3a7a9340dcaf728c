"""A web server beside the workers of a cluster, in a process of its own."""

import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from uuid import UUID

import pytest

from config.embedded.programs import build_web, build_worker
from config.env import env
from tests.durability.conftest import Cluster
from tests.support.ports import hold_port


@dataclass
class Web:
    """The web server of the cluster, under one address in all its lives."""

    cluster: Cluster
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        program, log = build_web(env(), self.port), self.cluster.logs / "web.log"
        # With a worker's own settings, too, so that one nursery serves both.
        own = {**build_worker(env()).environment, **program.environment}
        environment = {**os.environ, **own, **self.cluster.environment}
        process = self.cluster.nurseries.start(program.command, environment, log, log)
        self.cluster.processes["web"] = process
        self.cluster.until(self._is_ready)

    def end(self, how: signal.Signals) -> None:
        self.cluster.signal(how, "web")
        self.cluster.processes["web"].wait()

    def start_run(self, workflow_id: UUID, secret: str) -> UUID:
        """Start a run over the API, and return its id."""
        request = urllib.request.Request(
            f"{self.url}/api/v1/workflows/{workflow_id}/runs",
            json.dumps({"version": "draft", "response_mode": "async"}).encode(),
            {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
        )
        with closing(urllib.request.urlopen(request, timeout=30)) as response:
            return UUID(json.load(response)["id"])

    def _is_ready(self) -> bool:
        with suppress(OSError), closing(urllib.request.urlopen(f"{self.url}/livez", timeout=5)):
            return True
        return False


@pytest.fixture
def web(cluster: Cluster) -> Iterator[Web]:
    """It is not started yet. Its port belongs to nobody else, whether it runs or not."""
    with hold_port() as port:
        yield Web(cluster, port)
