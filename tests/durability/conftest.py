"""Real workers on the test's own database and Valkey, to be killed; a model server that keeps a ledger."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import pytest
from kombu import pools
from redis import Redis

from config.embedded.programs import build_worker as worker_program
from config.env import env
from tests.fakes.openai_server import Answer, FakeOpenAI, Scripted
from tests.support import servers, waiting
from tests.support.cast import Cast
from tests.support.database import database_name, worker_number
from tests.support.nursery import Forked, Nurseries
from workflows.models import Run, Workflow
from workflows.services.catalog import importing
from workflows.services.credentials import create_provider


# As many connections whatever the threads, so that one nursery serves all workers.
POOL = {"database_pool_size": 32}

ENDED = ("succeeded", "partial-succeeded", "failed", "stopped")


@dataclass
class Cluster:
    """Workers by name, and the rows as the owner sees them."""

    db: psycopg.Connection[Any]
    logs: Path
    environment: dict[str, str]
    nurseries: Nurseries
    processes: dict[str, Forked] = field(default_factory=dict)

    def start(self, name: str = "one", threads: int = 8) -> None:
        program = worker_program(env().model_copy(update={"worker_threads": threads} | POOL))
        environment = {**os.environ, **program.environment, **self.environment}
        log = self.logs / f"{name}.log"
        self.processes[name] = self.nurseries.start(program.command, environment, log, log)

    def signal(self, how: signal.Signals, name: str = "one") -> None:
        self.processes[name].send_signal(how)

    def kill(self, name: str = "one") -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def end(self) -> None:
        """At once, a frozen one too: the tables are emptied next. How a worker stops is a test's own business."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()

    def expire_leases(self) -> None:
        """As if fifteen seconds had gone by."""
        self.db.execute("update workflows_run set lease_until = now() where status = 'running'")

    def let_time_pass(self, run: Run, due_in: str) -> datetime:
        """As if the run had paused so long ago that it is due then. Return the new time."""
        self.db.execute(
            "update workflows_runwait set due_at = now() + %s::interval where run_id = %s",
            (due_in, run.pk),
        )
        row: Any = self.db.execute(
            "update workflows_run set wake_at = now() + %s::interval where id = %s returning wake_at",
            (due_in, run.pk),
        ).fetchone()
        wake_at: datetime = row[0]
        return wake_at

    def row(self, run: Run) -> dict[str, Any]:
        cursor = self.db.execute("select * from workflows_run where id = %s", (run.pk,))
        names = [column.name for column in cursor.description or ()]
        return dict(zip(names, cursor.fetchone() or (), strict=True))

    def events(self, run: Run) -> list[tuple[int, str, Any]]:
        return self.db.execute(
            "select seq, name, data from workflows_runevent where run_id = %s order by seq",
            (run.pk,),
        ).fetchall()

    def steps(self, run: Run) -> list[tuple[str, str, int]]:
        return self.db.execute(
            "select node_key, status, attempt from workflows_step where run_id = %s order by id",
            (run.pk,),
        ).fetchall()

    def count_commits(self) -> int:
        """Return how many commits all runs have together."""
        row: Any = self.db.execute("select count(*) from workflows_runcommit").fetchone()
        return int(row[0])

    def until(self, what: Callable[[], Any], seconds: float = waiting.LIMIT) -> Any:
        """Wait until this holds, and return it. A failure shows what the processes said."""
        try:
            return waiting.until(what, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.story()}") from error

    def until_ended(self, run: Run, seconds: float = waiting.LIMIT) -> dict[str, Any]:
        self.until(lambda: self.row(run)["status"] in ENDED, seconds)
        return self.row(run)

    def check(self, run: Run) -> None:
        """What holds after every test: ended once, one result a node, a sequence without holes."""
        row, events = self.row(run), self.events(run)
        assert row["status"] in ENDED
        assert [seq for seq, _name, _data in events] == list(range(1, row["last_seq"] + 1))
        assert [name for _seq, name, _data in events].count("run_finished") == 1
        assert events[-1][1] == "run_finished"
        assert row["lease_until"] is None
        nodes = [node for node, _status, _attempt in self.steps(run)]
        assert len(nodes) == len(set(nodes))

    def story(self) -> str:
        return "\n".join(text[-3000:] for text in self._read_logs())

    def count_said(self, words: str) -> int:
        """Return how often the processes have written this."""
        return sum(text.count(words) for text in self._read_logs())

    def _read_logs(self) -> list[str]:
        return [path.read_text(errors="replace") for path in sorted(self.logs.glob("*.log"))]


@pytest.fixture
def cluster(
    owner_db: psycopg.Connection[Any],
    valkey_url: str,
    nurseries: Nurseries,
    tmp_path: Path,
    settings: Any,
) -> Iterator[Cluster]:
    at, socket = servers.place(), servers.start_valkey().socket
    broker = f"redis+socket://{socket}?virtual_host={worker_number()}"
    settings.REDIS_URL = valkey_url
    made = Cluster(
        owner_db,
        tmp_path,
        {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": at.build_database_url("mnemoflow_app", database_name()),
            "BROKER_URL": broker,
            "REDIS_URL": valkey_url,
        },
        nurseries,
    )
    with point_celery_at(broker):
        try:
            yield made
        finally:
            made.end()
            # What the killed had taken would be handed out again, to the next test's worker.
            Redis.from_url(valkey_url).flushdb()


@contextmanager
def point_celery_at(broker: str) -> Iterator[None]:
    # Inline import: the app reads the settings when it is made.
    from config.celery import app

    before = app.conf.broker_url
    _point(app, broker)
    try:
        yield
    finally:
        _point(app, before)


def _point(app: Any, broker: str) -> None:
    """Celery keeps its connections; new ones go elsewhere."""
    app.conf.broker_url = broker
    app.amqp._producer_pool = None
    app._pool = None
    pools.reset()


@pytest.fixture
def ledger(cluster: Cluster) -> Iterator[FakeOpenAI]:
    """A model server that writes down every request; the effects whose number counts."""
    with FakeOpenAI() as server:
        cluster.environment["NET_ALLOW"] = server.base_url.split("/")[2]
        yield server


@pytest.fixture
def gate() -> Iterator[Event]:
    """What a held answer waits for: the test opens it, or the end of the test does."""
    made = Event()
    yield made
    made.set()


@pytest.fixture
def held(gate: Event) -> Answer:
    """An answer of the ledger that stops after its first word until the gate opens."""
    return Answer("one two three four", gate=gate)


def chain(kinds: Sequence[str]) -> dict[str, Any]:
    """start → the given nodes → end; an llm node asks about its own name."""
    ids = [f"{kind}{number}" for number, kind in enumerate(kinds, start=1)]
    return {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start", "title": "Start", "variables": []}},
            *(
                {"id": name, "data": DATA[kind](name)}
                for name, kind in zip(ids, kinds, strict=True)
            ),
            {
                "id": "end",
                "data": {
                    "type": "end",
                    "title": "End",
                    "outputs": [
                        {"variable": name, "value_selector": [name, FIELD[kind]]}
                        for name, kind in zip(ids, kinds, strict=True)
                    ],
                },
            },
        ],
        "edges": [
            {"id": f"e{number}", "source": source, "target": target}
            for number, (source, target) in enumerate(
                zip(["start", *ids], [*ids, "end"], strict=True), start=1
            )
        ],
    }


def _llm(name: str) -> dict[str, Any]:
    return {
        "type": "llm",
        "title": name,
        "model": {"provider": "ledger", "name": "small", "mode": "chat"},
        "prompt_template": [{"role": "user", "text": name}],
    }


def _template(name: str) -> dict[str, Any]:
    return {"type": "template-transform", "title": name, "template": name, "variables": []}


def _store(name: str) -> dict[str, Any]:
    return {
        "type": "memory-store",
        "title": name,
        "scope": "run",
        "key": name,
        "value_selector": ["llm1", "text"],
    }


def _recall(name: str) -> dict[str, Any]:
    return {"type": "memory-recall", "title": name, "scope": "run", "query": "stored"}


DATA: dict[str, Callable[[str], dict[str, Any]]] = {
    "llm": _llm,
    "template-transform": _template,
    "memory-store": _store,
    "memory-recall": _recall,
}
FIELD = {
    "llm": "text",
    "template-transform": "output",
    "memory-store": "entry",
    "memory-recall": "text",
}


@pytest.fixture
def models(cast: Cast, ledger: FakeOpenAI) -> None:
    """Alice's team may ask the ledger's models."""
    create_provider(
        cast.alice.principal,
        team_id=cast.team_a.pk,
        name="ledger",
        base_url=ledger.base_url,
        secret="sk-ledger-0123456789",
    )


@pytest.fixture
def workflow(cluster: Cluster, cast: Cast, models: None) -> Callable[..., Workflow]:
    """Alice's; its models are the ledger's."""

    def make(*kinds: str) -> Workflow:
        return importing.import_document(
            cast.alice.principal, team_id=cast.team_a.pk, source=chain(kinds), name="durable"
        ).workflow

    return make


def asked(ledger: FakeOpenAI, name: str) -> int:
    return sum(request.last_message == name for request in ledger.requests if request.body)


def answer_from_now_on(ledger: FakeOpenAI, reply: Scripted) -> None:
    """The ledger itself stays."""
    ledger._script[:] = [reply]
