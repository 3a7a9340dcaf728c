"""The whole of `manage.py up`, as a person starts it."""

import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from config.embedded.layout import find_layout
from config.embedded.postgres import Postgres
from config.embedded.valkey import Valkey
from tests.config.embedded.conftest import Up
from tests.config.embedded.outages import Client, check_outages, end_by_sigterm
from tests.config.embedded.web_processes import check_two_processes


def base(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def status(address: str) -> int:
    with urllib.request.urlopen(address, timeout=90) as response:
        return response.status


def find_services(home: Path) -> list[psutil.Process | None]:
    at = find_layout(home)
    postgres = Postgres(at.pg_data, at.sockets, at.logs / "postgres.log")
    valkey = Valkey(at.valkey_data, at.valkey_socket, at.logs / "valkey.log")
    return [postgres.find_process(), valkey.find_process()]


@pytest.mark.slow
@pytest.mark.timeout(500)  # it starts the whole product several times
def test_up_taken_port_then_killed_then_two_web_processes_then_outages_then_sigterm(
    home: Path, environment: dict[str, str], up: Callable[..., Up]
):
    """One story, because each start takes seconds: see the sentences on the way."""
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        taken = somebody.getsockname()[1]
        first = up("--port", str(taken))
        address = first.address()

    # A taken port is answered by the next free one, said so; the printed link signs in and works once.
    assert f"Port {taken} is in use" in first.output
    assert status(address) == 200
    assert status(f"{base(address)}/healthz") == 200

    # A second one in the same folder is told where the first is.
    second = up()
    assert second.process.wait(90) != 0
    assert f"already running here: {base(address)}" in second.output

    # Killed with -9 and started again: soon, with its data, nothing left over in the way. Now with two web processes.
    left_running = find_services(home)
    first.process.kill()
    first.process.wait()
    environment["WEB_PROCESSES"] = "2"
    third = up()
    client = Client(third.address())
    assert client.get("/workflows/").status == 200
    assert "Migrating the database" in first.output
    assert "Migrating the database" not in third.output
    # What takes the time of a first start has not been done again: the servers are taken over as they are.
    assert None not in left_running
    assert find_services(home) == left_running

    check_two_processes(home, third, client)

    check_outages(home, third, client)

    # SIGTERM ends every child, and the database. So does Ctrl-C: see test_closed_clone.py.
    end_by_sigterm(third)
    assert find_services(home) == [None, None]
