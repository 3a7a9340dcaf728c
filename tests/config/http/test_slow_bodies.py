"""Half-sent requests against the whole site, as its server runs it."""

import http.client
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from config.http.body_timeout import BodyTimeout
from tests.support.own_server import own_server


SECONDS = 1.0


def find_layer(application: Any) -> BodyTimeout:
    while not isinstance(application, BodyTimeout):
        application = application._inner
    return application


@pytest.mark.django_db(transaction=True)
def test_site_answers_others_while_bodies_are_half_sent(monkeypatch: pytest.MonkeyPatch):
    from config.asgi import application

    monkeypatch.setattr(find_layer(application), "_seconds", SECONDS)
    with own_server() as url:
        address = urlsplit(url)
        lines = [_begin(address.hostname, address.port) for _ in range(50)]
        began = time.monotonic()
        other = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        other.request("GET", "/accounts/login/")
        status = other.getresponse().status
        answers = {line.recv(100)[:12] for line in lines}
        took = time.monotonic() - began
        for line in lines:
            line.close()
        other.close()

    assert (status, answers) == (200, {b"HTTP/1.1 408"})
    assert took < SECONDS + 15  # on a busy machine; without a limit they would wait for ever


def _begin(host: str | None, port: int | None) -> socket.socket:
    line = socket.create_connection((host, port), timeout=60)
    head = "POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    line.sendall(f'{head}Content-Length: 900\r\n\r\n{{"in'.encode())
    return line
