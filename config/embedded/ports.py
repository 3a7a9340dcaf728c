"""Finds the requested port, or the next free one."""

import socket
from contextlib import closing

from config.embedded.errors import NoFreePort


MAX_ATTEMPTS = 50


def find_free_port(host: str, first_port: int) -> int:
    """Return the first port that can be bound. The server fails to start if another process takes it in between."""
    for port in range(first_port, min(first_port + MAX_ATTEMPTS, 65_536)):
        if _is_free(host, port):
            return port
    raise NoFreePort(host, first_port)


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_STREAM)) as test_socket:
        # The server sets this as well; a port with a listener still fails.
        test_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            test_socket.bind((host, port))
        except OSError:
            return False
    return True
