"""Opens the requested port, or the next free one."""

import socket
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from config.embedded.errors import NoFreePort


MAX_ATTEMPTS = 50
BACKLOG = 2048  # connections that wait while the web server starts


@dataclass(frozen=True)
class LastPort:
    """The port that was asked for at the last start, and the one that was used."""

    requested: int
    used: int


def open_listener(host: str, first_port: int, memo: Path) -> socket.socket:
    """Listen on the requested port, or on the next free one.

    The file ``memo`` keeps which port stood in for the requested one, so that the address is the same after a restart:
    bookmarks and the commands of API clients go on working.
    """
    for port in (read_substitute(memo, first_port), *_list_candidates(first_port)):
        if port and (listener := _listen(host, port)):
            memo.parent.mkdir(parents=True, exist_ok=True)
            memo.write_text(f"{first_port} {port}")
            return listener
    raise NoFreePort(host, first_port)


def find_free_port(host: str, first_port: int) -> int:
    """Return the first port that can be bound. Another process may take it before it is used: see ``open_listener``."""
    for port in _list_candidates(first_port):
        if listener := _listen(host, port):
            with closing(listener):
                return port
    raise NoFreePort(host, first_port)


def read_substitute(memo: Path, first_port: int) -> int | None:
    """Return the port that was used when ``first_port`` was last asked for."""
    last = read_last_port(memo)
    return last.used if last and last.requested == first_port else None


def read_last_port(memo: Path) -> LastPort | None:
    try:
        return LastPort(*map(int, memo.read_text().split()))
    except (OSError, ValueError, TypeError):
        return None


def _list_candidates(first_port: int) -> range:
    return range(first_port, min(first_port + MAX_ATTEMPTS, 65_536))


def _listen(host: str, port: int) -> socket.socket | None:
    """Return a listening socket, or None if the port is taken or the address is not of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # The sockets of its connections inherit this; the web server can't set it for a socket that it was given.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        return None
    return listener
