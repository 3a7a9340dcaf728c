"""Loads the whole run for a worker that executes a range of its rounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from config.postgres.outages import retry_during_outage
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Json
from workflows.execution.claims import Claim
from workflows.execution.db import Database


WHOLE_RUN = "select execution_whole_run(%s, %s)"


class WholeRunMissing(EngineFault):
    """The run to which these rounds belong was deleted."""


@dataclass(frozen=True, slots=True)
class WholeRun:
    """The run to which a range belongs. The worker reads its claim, but doesn't hold it."""

    claim: Claim
    steps: Sequence[Mapping[str, Json]] = field(repr=False)  # rows of its finished top-level steps


async def load_whole_run(db: Database, claim: Claim) -> WholeRun:
    parent_id = UUID(claim.row["parent_id"])
    row = await retry_during_outage(partial(db.fetch_value, WHOLE_RUN, (claim.team_id, parent_id)))
    if row is None:
        raise WholeRunMissing
    run = row["run"]
    age, last_seq = float(row["age"]), run["last_seq"]
    parent = Claim(parent_id, claim.team_id, run["attempt"], last_seq, age, run)
    return WholeRun(parent, row["steps"])
