"""What is outside, where nobody answers: each call ends at the door to the network, and is counted there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connections

from accounts.request_transaction import list_open_blocks
from config.net import transport
from config.net.errors import NetFault


class Door:
    """The door to the network, which lets nobody through, and counts the open blocks of the requests that wait at it."""

    def __init__(self) -> None:
        # Of the requests, which are sent by this thread.
        self._connection: Any = connections[DEFAULT_DB_ALIAS]
        self._counts: list[int] = []

    @contextmanager
    def watch(self) -> Iterator[list[bool]]:
        """Give a list that says, once the block has ended, of each call whether it waits inside a transaction."""
        outer_count = len(list_open_blocks())
        self._counts.clear()
        waits: list[bool] = []
        yield waits
        waits += [count > outer_count for count in self._counts]

    def count(self) -> None:
        blocks = self._connection.atomic_blocks
        self._counts.append(sum(not block._from_testcase for block in blocks))

    def refuse(self, _request: Any) -> None:
        self.count()
        raise NetFault("nobody is outside")


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    closed = Door()
    monkeypatch.setattr(transport.Rules, "check", lambda _rules, request: closed.refuse(request))
    return closed
