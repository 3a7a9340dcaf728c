"""`manage.py up` prints its address however long the web server takes to load, and says so meanwhile."""

import signal
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from config.embedded.supervisor import Program, Supervisor
from config.management.commands.up import wait_until_ready


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    lasting = Program("web", [sys.executable, "-c", "import signal; signal.pause()"])
    supervisor = Supervisor([lasting], tmp_path)
    supervisor.start()
    yield supervisor
    supervisor.stop()
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_server_that_answers_after_the_patience_is_ready(supervisor: Supervisor, port: int):
    reports: list[HTTPServer] = []

    def answer_from_now_on() -> None:
        server = HTTPServer(("127.0.0.1", port), Healthy)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        reports.append(server)

    is_ready = wait_until_ready(
        f"http://127.0.0.1:{port}/healthz", supervisor, answer_from_now_on, patience=0
    )

    reports[0].shutdown()
    reports[0].server_close()
    assert is_ready
    assert len(reports) == 1


def test_wait_for_a_slow_server_ends_with_ctrl_c(supervisor: Supervisor, port: int):
    def press_ctrl_c() -> None:
        supervisor._handle_signal(signal.SIGINT, None)

    assert not wait_until_ready(f"http://127.0.0.1:{port}/", supervisor, press_ctrl_c, patience=0)
