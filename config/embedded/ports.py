"""The port that was asked for, or the next free one."""

import socket
from contextlib import closing

from config.embedded.errors import NoFreePort


TRIES = 50


def next_free(host: str, wanted: int) -> int:
    """Bound for a moment to find out. Somebody could take it before the server does: then that says so and ends."""
    for port in range(wanted, min(wanted + TRIES, 65_536)):
        if _is_free(host, port):
            return port
    raise NoFreePort(host, wanted)


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
