"""What holds of `manage.py up` with two web processes: whichever serves a request, limits, metrics and presence are the same."""

import http.client
import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
from redis import Redis

from config.embedded.layout import find_layout
from tests.config.embedded.conftest import Up
from tests.config.embedded.outages import Client, wait_until
from tests.config.embedded.test_programs import stopped


REQUESTS = re.compile(r'^mnemoflow_requests_total{area="api",.*} ([0-9.]+)$', re.MULTILINE)
PROCESSES = ("web", "web-2")
API_PATH = "/api/v1/workflows"


@contextmanager
def only(name: str, home: Path) -> Iterator[None]:
    """Let only this web process work during a block."""
    (other,) = set(PROCESSES) - {name}
    with stopped(read_pid(other, home)):
        yield


def read_pid(name: str, home: Path) -> int:
    return int((find_layout(home).locks / f"{name}.pid").read_text())


def copy_sample(client: Client) -> str:
    """Copy the first sample, and return the path of the workflow."""
    home_page = client.get("/")
    (token,) = set(re.findall(r'"X-CSRFToken": "([^"]+)"', home_page.body))
    cookies = [line.split(";")[0] for line in home_page.headers["set-cookie"].split("\n")]
    headers = {"Cookie": "; ".join([client.cookie, *cookies]), "X-CSRFToken": token}
    with closing(http.client.HTTPConnection(client.netloc, timeout=90)) as connection:
        connection.request("POST", "/samples/chatbot/copy/", headers=headers)
        response = connection.getresponse()
        response.read()
        assert response.status == 302
        return response.headers["Location"].partition("?")[0]


class Tab:
    """A browser tab that has a draft open."""

    def __init__(self, client: Client, path: str, name: str) -> None:
        self._connection = http.client.HTTPConnection(client.netloc, timeout=90)
        self._connection.request(
            "GET", f"{path}live/?client={name}", headers={"Cookie": client.cookie}
        )
        self._response = self._connection.getresponse()
        assert self._response.status == 200

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def wait_for_tabs(self, count: int) -> set[str]:
        """Read events until so many tabs are present, and return their names."""
        while True:
            line = self._response.readline().decode()
            assert line, "the stream has ended"
            if line.startswith("data:") and "people" in line:
                people = json.loads(line.removeprefix("data:"))["people"]
                if len(people) == count:
                    return {card["client"] for card in people}


def check_two_processes(home: Path, one: Up, client: Client) -> None:
    """Ask one process and then the other, and kill one of them."""
    wait_until(lambda: (find_layout(home).locks / "web-2.pid").exists(), one)

    # Each of them answers pages of the same person.
    for name in PROCESSES:
        with only(name, home):
            assert client.get("/workflows/").status == 200

    # Requests to the API count towards one limit, and in one sum.
    for name in PROCESSES:
        with only(name, home):
            assert [client.get(API_PATH).status for _number in range(3)] == [200] * 3
    with Redis(unix_socket_path=str(find_layout(home).valkey_socket)) as valkey:
        counts = [int(valkey.get(key) or 0) for key in valkey.keys("*requests:user:*")]
    for name in PROCESSES:
        with only(name, home):
            sums = sum(map(float, REQUESTS.findall(client.get("/metrics").body)))
            assert (sum(counts), sums) == (6, 6)

    # People who edit the same draft see each other, whichever process they are connected to.
    path = copy_sample(client)
    with only("web", home):
        first = Tab(client, path, "first-tab")
        assert first.wait_for_tabs(1) == {"first-tab"}
    with only("web-2", home):
        second = Tab(client, path, "second-tab")
    assert second.wait_for_tabs(2) == first.wait_for_tabs(2) == {"first-tab", "second-tab"}
    second.close()
    assert first.wait_for_tabs(1) == {"first-tab"}
    first.close()

    # One that is killed is started again, and the other one serves meanwhile.
    killed = read_pid("web", home)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not psutil.pid_exists(killed) or read_pid("web", home) != killed, one)
    assert [client.get("/workflows/").status for _number in range(5)] == [200] * 5
    wait_until(lambda: read_pid("web", home) != killed, one)
    with only("web", home):
        assert client.get("/workflows/").status == 200
