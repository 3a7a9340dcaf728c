"""What is outside: each call passes the door to the network, where the open blocks of the caller's connection are counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connections

from accounts.request_transaction import list_open_blocks
from config.net import transport


class Door:
    """Counts the open blocks of the requests that go through it."""

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

    def note_call(self) -> None:
        blocks = self._connection.atomic_blocks
        self._counts.append(sum(not block._from_testcase for block in blocks))


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    watched, check = Door(), transport.Rules.check

    def note_and_check(rules: transport.Rules, request: Any) -> None:
        watched.note_call()
        check(rules, request)

    monkeypatch.setattr(transport.Rules, "check", note_and_check)
    return watched
