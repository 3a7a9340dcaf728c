"""Ports that nobody else gets while a test uses them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hold_port(port: int = 0) -> Iterator[int]:
    """Hold a port that a server of this test can still listen on, and give its number.

    The system hands a bound port out to nobody. A server that allows to use an address again, as ours do, may listen
    on it all the same, because this socket doesn't listen.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", port))
        yield holder.getsockname()[1]
