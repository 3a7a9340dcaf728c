import signal
from contextlib import nullcontext
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from config.embedded import restarts
from config.embedded.errors import ServiceMissing
from config.embedded.layout import find_layout
from config.embedded.postgres import Postgres
from config.embedded.restarts import restart_services
from config.embedded.valkey import Valkey
from tests.support.waiting import until


def start_both(home: Path) -> tuple[Postgres, Valkey]:
    layout = find_layout(home)
    postgres = Postgres(
        layout.pg_data, layout.sockets, layout.logs / "postgres.log", settings={"fsync": "off"}
    )
    valkey = Valkey(layout.valkey_data, layout.valkey_socket, layout.logs / "valkey.log")
    postgres.start()
    valkey.start()
    return postgres, valkey


def kill(service: Postgres | Valkey) -> psutil.Process:
    process = service.find_process()
    assert process is not None
    process.send_signal(signal.SIGKILL)
    return process


def wait_until_back(service: Postgres | Valkey, old: psutil.Process) -> None:
    until(
        lambda: (process := service.find_process()) and process != old,
        why="the service didn't come back",
    )


def test_restarts_postgres_and_valkey_killed_come_back_with_their_data(home: Path):
    postgres, valkey = start_both(home)
    with psycopg.connect(postgres.build_url(), autocommit=True) as connection:
        connection.execute("create table kept as select 1 as one")

    with restart_services({"PostgreSQL": postgres, "Valkey": valkey}, nullcontext):
        killed = kill(postgres), kill(valkey)
        wait_until_back(postgres, killed[0])
        wait_until_back(valkey, killed[1])
        # Leaving the block waits for an attempt that is under way.

    with psycopg.connect(postgres.build_url()) as connection:
        rows = connection.execute("select one from kept").fetchall()
    with redis.Redis.from_url(valkey.url) as client:
        answer = client.ping()
    # The killed ones have been reaped: none of them stays as a zombie.
    assert (rows, answer, [process.is_running() for process in killed]) == (
        [(1,)],
        True,
        [False, False],
    )


class Failing:
    """Is never running, and its starts fail."""

    def __init__(self) -> None:
        self.starts = 0

    def find_process(self) -> psutil.Process | None:
        return None

    def start(self) -> bool:
        self.starts += 1
        raise ServiceMissing("Failing", "FAILING_URL")


def test_restarts_a_service_that_can_not_start_is_tried_again_and_the_reason_is_printed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(restarts, "CHECK_INTERVAL", 0.01)
    failing = Failing()

    with restart_services({"Failing": failing, "Absent": None}, nullcontext):
        until(lambda: failing.starts >= 2, why="it wasn't tried again")

    assert failing.starts >= 2
    assert "There is no embedded Failing" in capfd.readouterr().err
