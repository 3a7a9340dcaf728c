"""What happens to `manage.py up` while its databases and its worker are killed: it answers, and everything comes back."""

import http.client
import json
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from config.embedded.layout import find_layout
from config.embedded.postgres import Postgres
from config.embedded.session import hold_start_lock
from config.embedded.valkey import Valkey
from config.postgres import POOL_WAIT
from tests.config.embedded.conftest import Up
from tests.support.waiting import until


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: str


class Client:
    """Requests to the product, with the session of its printed link."""

    def __init__(self, address: str) -> None:
        """Sign in with the printed link, which works once."""
        self.netloc = urlsplit(address).netloc
        self.cookie = ""
        link = urlsplit(address)
        signed_in = self.get(f"{link.path}?{link.query}" if link.query else link.path)
        self.cookie = "; ".join(
            part.split(";")[0] for part in signed_in.headers.get("set-cookie", "").split("\n")
        )

    def get(self, path: str, **headers: str) -> Response:
        connection = http.client.HTTPConnection(self.netloc, timeout=90)
        connection.request("GET", path, headers={"Cookie": self.cookie, **headers})
        response = connection.getresponse()
        body = response.read().decode()
        found: dict[str, str] = {}
        for name, value in response.getheaders():
            key = name.lower()
            found[key] = f"{found[key]}\n{value}" if key in found else value
        connection.close()
        return Response(response.status, found, body)


def wait_until(condition: Callable[[], bool], one: Up) -> None:
    try:
        until(condition)
    except AssertionError as error:
        raise AssertionError(one.output[-3000:]) from error


def end_by_sigterm(one: Up) -> None:
    """SIGTERM ends every child, as Ctrl-C does."""
    ours = psutil.Process(one.process.pid).children(recursive=True)
    one.process.terminate()
    assert one.process.wait(90) == 0
    assert [process for process in ours if process.is_running()] == []
    assert len(ours) > 2


def check_outages(home: Path, one: Up, client: Client) -> None:
    """Kill the databases and the worker: they come back, and no request fails by our fault."""
    layout = find_layout(home)
    postgres = Postgres(layout.pg_data, layout.sockets, layout.logs / "postgres.log")
    valkey = Valkey(layout.valkey_data, layout.valkey_socket, layout.logs / "valkey.log")
    assert client.get("/workflows/").status == 200

    # The whole server at once, so that it must recover.
    postmaster = postgres.find_process()
    assert postmaster is not None
    killed = [postmaster, *postmaster.children(recursive=True)]
    # Whoever starts it again needs this lock: as long as it is held here, the server stays away.
    with hold_start_lock(layout):
        for process in killed:
            process.kill()
        psutil.wait_procs(killed, 90)
        away = [client.get("/workflows/") for _number in range(3)]
    # A page is refused while the server is away: it waits for a connection only as long as the pool does.
    assert {page.status for page in away} == {503}
    assert POOL_WAIT < 1
    refused = {
        (page.headers.get("retry-after"), 'http-equiv="refresh"' in page.body) for page in away
    }
    assert refused == {("2", True)}
    pages: list[Response] = []

    def is_back() -> bool:
        pages.append(client.get("/workflows/"))
        return pages[-1].status == 200

    wait_until(is_back, one)
    assert {page.status for page in pages} <= {200, 503}
    assert [client.get("/workflows/").status for _number in range(25)] == [200] * 25
    assert [process for process in killed if process.is_running()] == []

    # The broker is no part of what a page needs.
    server = valkey.find_process()
    assert server is not None
    server.kill()
    wait_until(lambda: client.get("/readyz").status == 200 and bool(valkey.find_process()), one)
    assert client.get("/workflows/").status == 200

    # Deaths of the worker don't end the site; test_supervisor.py has more of them.
    for _number in range(2):
        (worker,) = find_workers(one)
        worker.send_signal(signal.SIGKILL)
        worker.wait(90)
        wait_until(lambda: len(find_workers(one)) == 1, one)
    assert (one.process.poll(), client.get("/workflows/").status) == (None, 200)
    # The new worker reports itself once it has started.
    parts = {"database": "ok", "broker": "ok", "workers": "ok"}
    wait_until(lambda: read_parts(client) == parts, one)


def read_parts(client: Client) -> object:
    """Return the parts as a load balancer sees them, which doesn't know the name of the host."""
    return json.loads(client.get("/readyz", Host="a-load-balancer.example").body)["parts"]


def find_workers(one: Up) -> list[psutil.Process]:
    children = psutil.Process(one.process.pid).children()
    return [child for child in children if "worker" in child.cmdline()]
