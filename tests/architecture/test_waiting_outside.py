"""The check of the access matrix that no route calls what is outside inside a transaction of its own sees such calls.

Here a route is asked that calls a model's provider; in `test_access_matrix.py` each route is.
"""

import pytest
from django.db import transaction

from config.net.errors import NetFault
from tests.architecture.matrix_core import ask
from tests.architecture.matrix_objects import CANARY_A, ROWS
from tests.architecture.outside import Door, door
from tests.architecture.test_access_matrix import made, make, undone
from tests.architecture.world import World


pytestmark = pytest.mark.django_db

__all__ = ["door", "made"]  # fixtures

ROUTE = "api/v1/providers/<uuid:provider_id>/test"


def test_route_that_calls_a_provider_waits_outside_its_transaction(made: World, door: Door) -> None:
    (row,) = (row for row in ROWS if row.name == f"POST {ROUTE}")
    with undone():
        values = make(row, made.cast.alice, CANARY_A)
        with undone(), door.watch() as waits:
            ask(made.principals()["admin"], row, values)

    assert waits
    assert not any(waits)


def test_call_inside_a_transaction_is_seen(made: World, door: Door) -> None:
    with undone(), door.watch() as waits, transaction.atomic(), pytest.raises(NetFault):
        door.refuse(None)

    assert waits == [True]
