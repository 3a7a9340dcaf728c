"""Transactions that end while something slow outside is waited for, such as that of a request.

Whoever is in a transaction holds one of the few connections of the pool. A model, an MCP server or a web page may take a
minute to answer; whoever calls one gives the connection back for this time with ``without_connection``.
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


_ATTRIBUTE = "mnemoflow_pausable_transactions"


class PausableTransaction:
    """A transaction that sees only the rows of these teams. A pause commits it, and another one begins after it."""

    def __init__(self, team_ids: Iterable[UUID]) -> None:
        self._team_ids = frozenset(team_ids)
        self._stack = ExitStack()
        self.outer_count = 0  # of open blocks around it
        self.is_open = False  # not during a pause

    def begin(self) -> None:
        self.outer_count = len(list_open_blocks())
        self._stack.enter_context(tenant(self._team_ids))
        self.is_open = True

    def end(self, *failure: Any) -> bool:
        """End it as a context manager does: roll it back after a failure. Without one it may have ended before."""
        self.is_open = False
        return bool(self._stack.__exit__(*(failure or (None, None, None))))


class RequestTransaction(PausableTransaction):
    """The transaction of a request.

    Usually no block is around it: a check that takes back everything sends its requests inside a transaction of its own.
    """

    def open(self) -> None:
        self.begin()
        _list_pausable()[:] = [self]

    def close(self, *, is_rolled_back: bool = False) -> None:
        _list_pausable().clear()
        if is_rolled_back and connections[DEFAULT_DB_ALIAS].in_atomic_block:
            transaction.set_rollback(True)
        self.end()


@contextmanager
def pausable_tenant(team_ids: Iterable[UUID]) -> Iterator[None]:
    """Show only these teams' rows until the block ends, as ``tenant`` does; ``without_connection`` may be called inside.

    What was done before such a call stays, whatever happens after it, and locks end with it.
    """
    block, open_blocks = PausableTransaction(team_ids), _list_pausable()
    block.begin()
    open_blocks.append(block)
    with ExitStack() as stack:
        stack.push(block.end)
        stack.callback(open_blocks.remove, block)
        yield


@contextmanager
def without_connection(*, is_required: bool = True) -> Iterator[None]:
    """Give the connection back to the pool until the block ends. What was done before is committed.

    Rows that were read before may have been changed or deleted at the end of the block. Inside a transaction that can't
    pause, such as that of most services, raise ConnectionInUse, or keep the connection if giving it back is not required.
    """
    if not _are_all_pausable():
        if is_required:
            raise ConnectionInUse
        with lend_turn(takes_again=False):
            yield
        return
    blocks = [block for block in _list_pausable() if block.is_open]  # none during another pause
    for block in reversed(blocks):
        block.end()
    give_back_connection()
    try:
        with lend_turn():
            yield
    finally:
        for block in blocks:
            block.begin()


def list_open_blocks() -> list[Atomic]:
    """Return the open transaction and its savepoints, without those in which a test runs."""
    connection: Any = connections[DEFAULT_DB_ALIAS]  # Any: a private attribute of Django's blocks
    return [block for block in connection.atomic_blocks if not block._from_testcase]


def give_back_connection() -> None:
    """Return this thread's connection to the pool, if it is in no transaction."""
    connection = connections[DEFAULT_DB_ALIAS]
    if not connection.in_atomic_block:  # a test's transaction keeps its connection
        connection.close()


def _list_pausable() -> list[PausableTransaction]:
    """Return this thread's open transactions that may pause, the outermost one first."""
    connection = connections[DEFAULT_DB_ALIAS]
    if not hasattr(connection, _ATTRIBUTE):
        setattr(connection, _ATTRIBUTE, [])
    blocks: list[PausableTransaction] = getattr(connection, _ATTRIBUTE)
    return blocks


def _are_all_pausable() -> bool:
    """Return whether no other block is open than those that may pause, apart from those around a request."""
    blocks = _list_pausable()
    count = blocks[0].outer_count if blocks and isinstance(blocks[0], RequestTransaction) else 0
    for block in blocks:
        if block.is_open and block.outer_count != count:
            return False
        count += block.is_open  # a tenant is one block
    return len(list_open_blocks()) == count
