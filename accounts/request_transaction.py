"""The transaction of a request, which ends while the request waits for something slow outside.

A request is one transaction, and so it holds one of the few connections of the pool. A model, an MCP server or a web page
may take a minute to answer; whoever calls one gives the connection back for this time with ``without_connection``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.transaction import Atomic

from accounts.errors import ConnectionInUse
from accounts.tenancy import tenant
from config.http.page_threads import lend_turn


_ATTRIBUTE = "mnemoflow_request_transaction"


class RequestTransaction:
    """The tenant of a request: a transaction that sees only the rows of these teams. A pause commits it and opens another."""

    def __init__(self, team_ids: Iterable[UUID]) -> None:
        self._team_ids = frozenset(team_ids)
        self._stack = ExitStack()
        self.block_count = 0  # of open blocks as long as no service has opened one

    def open(self) -> None:
        # Usually none: a check that takes back everything sends its requests inside a transaction of its own.
        outer_count = len(list_open_blocks())
        self._stack.enter_context(tenant(self._team_ids))
        self.block_count = outer_count + 1
        setattr(connections[DEFAULT_DB_ALIAS], _ATTRIBUTE, self)

    def close(self, *, is_rolled_back: bool = False) -> None:
        setattr(connections[DEFAULT_DB_ALIAS], _ATTRIBUTE, None)
        with self._stack:
            if is_rolled_back and connections[DEFAULT_DB_ALIAS].in_atomic_block:
                transaction.set_rollback(True)


@contextmanager
def without_connection(*, is_required: bool = True) -> Iterator[None]:
    """Give the connection back to the pool until the block ends. What the request did before is committed.

    Rows that were read before may have been changed or deleted at the end of the block. Inside a transaction that a
    service opened, raise ConnectionInUse, or keep the connection if giving it back is not required.
    """
    request: RequestTransaction | None = getattr(connections[DEFAULT_DB_ALIAS], _ATTRIBUTE, None)
    if len(list_open_blocks()) > (request.block_count if request else 0):
        if is_required:
            raise ConnectionInUse
        with lend_turn(takes_again=False):
            yield
        return
    if request is not None:
        request.close()
    give_back_connection()
    try:
        with lend_turn():
            yield
    finally:
        if request is not None:
            request.open()


def list_open_blocks() -> list[Atomic]:
    """Return the open transaction and its savepoints, without those in which a test runs."""
    connection: Any = connections[DEFAULT_DB_ALIAS]  # Any: a private attribute of Django's blocks
    return [block for block in connection.atomic_blocks if not block._from_testcase]


def give_back_connection() -> None:
    """Return this thread's connection to the pool, if it is in no transaction."""
    connection = connections[DEFAULT_DB_ALIAS]
    if not connection.in_atomic_block:  # a test's transaction keeps its connection
        connection.close()
