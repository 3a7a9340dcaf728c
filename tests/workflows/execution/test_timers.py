"""How long a worker sleeps between two looks at the paused runs: until the next one is due, and a second at most."""

from collections.abc import Sequence
from datetime import timedelta
from typing import cast as as_type
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from tests.factories.workflows import make_run, make_workflow
from tests.support.cast import Cast
from workflows.execution import timers
from workflows.execution.db import Database


class Timers:
    """Stands where the database stands, and says when the next run is due."""

    def __init__(self, next_in: float | None) -> None:
        self._next_in = next_in

    async def fetch_rows(self, statement: str, values: object) -> list[tuple[None, float | None]]:
        return [(None, self._next_in)]


@pytest.mark.parametrize(
    ("next_in", "seconds"),
    [(0.4, 0.402), (0.9, 0.902), (3600.0, 1.0), (None, 1.0), (0.0, 0.01)],
)
async def test_worker_sleeps_until_the_next_run_is_due(
    next_in: float | None, seconds: float
) -> None:
    db = as_type(Database, Timers(next_in))

    assert await timers._fire(db, list_all) == pytest.approx(seconds)


def list_all(runs: Sequence[UUID]) -> Sequence[UUID]:
    return runs


@pytest.mark.django_db(transaction=True)
def test_database_says_when_the_earliest_run_is_due_and_fires_those_that_are(
    cast: Cast,
) -> None:
    workflow = make_workflow(cast.alice)
    now = timezone.now()
    due, _hour, _day = (
        make_run(
            cast.alice,
            workflow,
            status="paused",
            wake_at=now + timedelta(hours=hours),
            pause={"at": now.timestamp()},
        )
        for hours in (-1, 1, 24)
    )
    with connection.cursor() as cursor:
        cursor.execute(timers.FIRE, [10])
        ((fired, next_in),) = cursor.fetchall()

    assert fired == [due.pk]
    assert 0 < next_in <= 3600
