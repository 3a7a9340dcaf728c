"""Remembers servers that don't answer the question which revisions they speak, so that not every run has to find out.

Some end at it, as processes built with older libraries do, and some keep silent until its time is up.
"""

import time
from collections import OrderedDict
from typing import Final

from workflows.tools.mcp.servers import Server


HOLDS_SECONDS: Final = 3600.0  # after which a server is asked again, since it may have become newer
MAX_SERVERS: Final = 256  # that a process remembers

_old: OrderedDict[Server, float] = OrderedDict()  # with the time until which that holds


def is_known_as_old(server: Server) -> bool:
    """Return whether the server is to be met with the handshake of earlier revisions at once."""
    return _old.get(server, 0.0) > time.monotonic()


def note_as_old(server: Server) -> None:
    _old[server] = time.monotonic() + HOLDS_SECONDS
    _old.move_to_end(server)
    while len(_old) > MAX_SERVERS:
        _old.popitem(last=False)


def forget_age(server: Server) -> None:
    _old.pop(server, None)
