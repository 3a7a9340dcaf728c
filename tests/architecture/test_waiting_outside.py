"""No route calls what is outside inside a transaction of its own, whichever it is.

An admin sends every row of the access matrix. Outside nobody answers: each call ends at the door to the network, where
the open blocks of the request's connection are counted.
"""

from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connections

from accounts.request_transaction import list_open_blocks
from config.net import transport
from config.net.errors import NetFault
from tests.architecture.matrix_core import ask
from tests.architecture.matrix_objects import CANARY_A, ROWS
from tests.architecture.test_access_matrix import made, make, together, undone
from tests.architecture.world import World


pytestmark = pytest.mark.django_db

__all__ = ["made"]  # the fixture with the world


class Door:
    """The door to the network, which lets nobody through, and counts the blocks of the requests that wait at it."""

    def __init__(self) -> None:
        self._connection: Any = connections[
            DEFAULT_DB_ALIAS
        ]  # of the requests, which are sent by this thread
        self.counts: list[int] = []

    def refuse(self, _request: object) -> None:
        blocks = self._connection.atomic_blocks
        self.counts.append(sum(not block._from_testcase for block in blocks))
        raise NetFault("nobody is outside")


@pytest.mark.slow
def test_no_route_waits_for_what_is_outside_inside_its_transaction(
    made: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door()
    monkeypatch.setattr(transport.Rules, "check", lambda _rules, request: door.refuse(request))
    admin = made.principals()["admin"]
    waiting, callers = [], set()
    for rows in together(ROWS):
        with undone():
            values = make(rows[0], made.cast.alice, CANARY_A)
            for row in rows:
                door.counts.clear()
                with undone():
                    outer_count = len(list_open_blocks())
                    ask(admin, row, values)
                if door.counts:
                    callers.add(row.name)
                waiting += [row.name for count in door.counts if count > outer_count]

    assert waiting == []
    assert {"POST api/v1/providers/<uuid:provider_id>/test"} <= callers
