"""The renewal of claims, with a database that is away now and then."""

from typing import Any
from uuid import uuid4

import psycopg

from workflows.execution.claims import Claim, renew_claims


class AwayAtFirst:
    """Answers each statement with the ids of the runs, after a number of outages."""

    def __init__(self, outages: int) -> None:
        self.outages = outages

    async def fetch_rows(self, _statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if self.outages:
            self.outages -= 1
            raise psycopg.OperationalError("the connection is closed")
        return [(run_id,) for run_id in values[1]]


async def test_renewal_in_an_outage_is_tried_again_before_the_next_turn_of_the_worker():
    database: Any = AwayAtFirst(outages=2)
    claim = Claim(uuid4(), uuid4(), attempt=1, last_seq=0, age=0.0, row={})

    renewed = await renew_claims(database, [claim])

    assert renewed == {claim.run_id}
    assert database.outages == 0
