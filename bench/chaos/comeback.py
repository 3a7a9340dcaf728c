"""Kill PostgreSQL and Valkey under ``manage.py up``, and measure how long the product is away."""

import http.client
import os
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from bench._common import Bar
from bench._services import make_scratch_folder, run_server
from bench.chaos.system import find_port, say


MAX_SECONDS = 10.0
ROUNDS = 3


def measure_comebacks(measured: dict[str, object]) -> list[Bar]:
    with make_scratch_folder("mnemoflow-chaos-") as folder:
        os.environ["MNEMOFLOW_HOME"] = str(Path(folder) / "home")
        with run_server(folder, find_port() + 50) as address:
            port = urlsplit(address).port or 80
            _wait_until_ready(port)
            seconds = {
                name: [_measure(name, port) for _round in range(ROUNDS)]
                for name in ("PostgreSQL", "Valkey")
            }
    say(f"comeback: {seconds}")
    measured["comeback_seconds"] = seconds
    return [
        Bar(f"comeback: {name} is back", max(values), MAX_SECONDS, " s")
        for name, values in seconds.items()
    ]


def _measure(name: str, port: int) -> float:
    """Kill a service with all its processes, and return the seconds until every part of the product is ready."""
    from config.embedded.layout import find_layout
    from config.embedded.postgres import Postgres
    from config.embedded.valkey import Valkey

    layout = find_layout(Path(os.environ["MNEMOFLOW_HOME"]))
    services: dict[str, Postgres | Valkey] = {
        "PostgreSQL": Postgres(layout.pg_data, layout.sockets, layout.logs / "postgres.log"),
        "Valkey": Valkey(layout.valkey_data, layout.valkey_socket, layout.logs / "valkey.log"),
    }
    process = services[name].find_process()
    if process is None:
        raise RuntimeError(f"{name} is not running.")
    for each in [process, *process.children(recursive=True)]:
        with suppress(Exception):
            each.kill()
    began = time.monotonic()
    while services[name].find_process() is None or services[name].find_process() == process:
        _check_time(began)
    _wait_until_ready(port)
    return time.monotonic() - began


def _wait_until_ready(port: int) -> None:
    began = time.monotonic()
    while True:
        with suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        _check_time(began)


def _check_time(began: float) -> None:
    if time.monotonic() - began > 120:
        raise RuntimeError("The product did not come back.")
    time.sleep(0.05)
