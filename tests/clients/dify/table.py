"""Fills the row of one client: each method is called, and is "ok" or what went wrong.

It runs in the environments of the clients, too, where nothing of ours is installed.
"""

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any


OK = "ok"


class Row:
    """The outcomes of a client's methods, in the order in which they were called."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def call(self, method: str, work: Callable[[], Any]) -> Any:
        """Call a method. Return what it returned, or None if it failed."""
        try:
            value = work()
        except Exception as error:  # each client has classes of its own
            self.outcomes[method] = f"{type(error).__name__}: {error}"[:300]
            return None
        self.outcomes[method] = OK
        return value


def read_events(lines: Iterable[bytes]) -> Iterable[dict[str, Any]]:
    """Return the events of a stream by the simplest of all parsers, which people copy from each other."""
    for line in lines:
        if line.startswith(b"data:"):
            yield json.loads(line[5:])


def check(condition: object, message: object = "") -> None:
    if not condition:
        raise AssertionError(message)


def run(play: Callable[..., Row]) -> None:
    """Play with the arguments of the command line, and print the row."""
    row = play(**json.loads(sys.argv[1]))
    print(json.dumps(row.outcomes))
