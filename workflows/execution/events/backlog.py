"""Reads the stored events that readers of runs have not seen, for many readers in one statement.

When a server restarts, a thousand readers come back at once.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from config.http.batches import Batches
from config.postgres.outages import retry_during_outage
from workflows.execution.db import Database
from workflows.execution.events.stream_events import read_stored_events
from workflows.execution.run_connection import Row


PAGE_SIZE: Final = 500  # events in one read
BATCH_SIZE: Final = 32  # reads in one statement
STATEMENTS_AT_ONCE: Final = 2
# The reads run one after the other, and each sets the team for its own queries.
READ_STATEMENT: Final = """
    select answer.events, answer.attempt, answer.segments, answer.status, answer.last_seq
    from unnest(%s::uuid[], %s::uuid[], %s::bigint[]) with ordinality as wanted (team, run, after, number)
    cross join lateral execution_read(wanted.team, wanted.run, wanted.after, %s) as answer
    order by wanted.number
"""


class Position(NamedTuple):
    """The position of a reader: it wants the events of the run after this number."""

    team_id: UUID
    run_id: UUID
    after: int


class Backlog:
    """The reads of one event loop. Readers of the same run at the same position share a row."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._reads = Batches(self._read_all, size=BATCH_SIZE, at_once=STATEMENTS_AT_ONCE)

    async def read(self, position: Position) -> Row:
        """Return the events, attempt, saved text, status and last number of a run, as they are after this call."""
        return await self._reads.ask(position)

    async def _read_all(self, positions: Sequence[Position]) -> list[Row]:
        columns: list[Any] = [list(column) for column in zip(*positions, strict=True)]
        fetch = partial(self._db.fetch_rows, READ_STATEMENT, (*columns, PAGE_SIZE))
        rows = await retry_during_outage(fetch)
        return [(read_stored_events(events), *others) for events, *others in rows]
