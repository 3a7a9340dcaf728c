"""Finds the requested port, or the next free one."""

import socket
from contextlib import closing

from config.embedded.errors import NoFreePort


TRIES = 50


def find_free_port(host: str, first_port: int) -> int:
    """Return the first port that can be bound. Another process may still take it first; then the server says so and
    ends.
    """
    for port in range(first_port, min(first_port + TRIES, 65_536)):
        if _is_free(host, port):
            return port
    raise NoFreePort(host, first_port)


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as the server does; a listener still clashes
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
