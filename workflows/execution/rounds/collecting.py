"""Has the rounds of an iteration run by all workers, and takes their steps over into the run's own journal."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from json import loads
from typing import Final
from uuid import UUID

from config.postgres.outages import retry_during_outage
from config.redaction import NO_REDACTION, Redactor
from workflows.engine.errors import NodeFailed
from workflows.engine.language.document import Json
from workflows.engine.ports import RoundsRecorder, RoundsRequest
from workflows.engine.runtime import events as all_events
from workflows.engine.runtime.events import Event
from workflows.engine.sub_workflows.children import build_child_wait
from workflows.execution.claims import Claim
from workflows.execution.events.bus import announce_cancel
from workflows.execution.journal.codec import dump, parse_step_key, parse_step_record
from workflows.execution.ports.children import ChildDriver
from workflows.execution.rounds.ranges import divide_rounds, make_range_id, start_ranges
from workflows.execution.threads import run_in_thread
from workflows.models.run import ENDED, RunStatus


NEWS = "select execution_rounds_news(%s, %s, %s)"
STOP = "select execution_stop_rounds(%s, %s)"
FIRST_DELAY: Final = 0.03  # seconds between looks at the ranges that other workers execute
MAX_DELAY: Final = 0.5
STOP_SECONDS: Final = 1.0  # in which the workers report the steps that they interrupt

_ACTIVE: Final = frozenset({RunStatus.QUEUED, RunStatus.RUNNING})
# Events of a range that are those of a run of its own.
_OWN_EVENTS: Final = frozenset(
    {"run_started", "run_paused", "run_resumed", "run_finished", "human_input_required"}
)
_EVENTS: Final[Mapping[str, type[Event]]] = {
    kind.name: kind
    for kind in vars(all_events).values()
    if isinstance(kind, type) and issubclass(kind, Event)
}


@dataclass(frozen=True, slots=True)
class DistributedRounds:
    """Implements ``engine.ports.RoundsPort`` for one attempt at a run.

    ``is_abandoned`` says that the run has merely left this worker, so that its rounds go on elsewhere.
    """

    claim: Claim
    driver: ChildDriver
    is_abandoned: Callable[[], bool]
    redactor: Redactor = NO_REDACTION

    async def run_rounds(self, request: RoundsRequest, recorder: RoundsRecorder) -> int | None:
        collection = _Collection(self, request, recorder)
        try:
            return await collection.run()
        except asyncio.CancelledError:
            if not self.is_abandoned():  # the run was stopped, or took too long
                await collection.stop()
            raise
        finally:
            collection.close()


@dataclass(slots=True)
class _Range:
    """A range as it was last seen. Its status is empty until it has been started."""

    run_id: UUID
    rounds: range
    status: str = ""
    is_due: bool = False
    seq: int = 0  # of its last event that was taken over
    error: str = ""
    outputs: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_active(self) -> bool:
        return self.status in _ACTIVE or self.is_due

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


class _Collection:
    """The rounds of one step, from the first range that is started to the last one that ends."""

    def __init__(
        self, port: DistributedRounds, request: RoundsRequest, recorder: RoundsRecorder
    ) -> None:
        self._port, self._request, self._recorder = port, request, recorder
        self._division = divide_rounds(request.count, request.limit)
        self._ranges = [
            _Range(make_range_id(port.claim.run_id, request.node_id, rounds.start), rounds)
            for rounds in self._division.ranges
        ]
        self._driven: asyncio.Task[None] | None = None  # the range that this worker executes itself
        self._delay = FIRST_DELAY

    async def run(self) -> int | None:
        await self._take_news(self._ranges)  # an earlier attempt may have started them
        while True:
            failed = self._find_failed_round()
            if failed is not None and self._request.stops_at_failure:
                await self.stop()
                return failed
            self._check_lost()
            if all(each.has_ended for each in self._ranges):
                return None
            await self._start_more()
            active = [each for each in self._ranges if each.is_active]
            if not active:
                paused = next(each for each in self._ranges if not each.has_ended)
                raise build_child_wait(str(paused.run_id))
            self._drive_one(active)
            await self._wait()
            await self._take_news([each for each in self._ranges if self._is_open(each)])

    async def stop(self) -> None:
        """Stop all ranges, and take over the steps that their workers interrupt."""
        started = [each for each in self._ranges if self._is_open(each)]
        claim, ids = self._port.claim, [each.run_id for each in started]
        if not ids:
            return
        running = await retry_during_outage(
            partial(self._port.driver.db.fetch_value, STOP, (claim.team_id, ids))
        )
        await run_in_thread(_announce, running)
        deadline = asyncio.get_running_loop().time() + STOP_SECONDS
        interrupted = [each for each in started if each.run_id in set(running)]
        while asyncio.get_running_loop().time() < deadline:
            await self._take_news(interrupted)
            if all(each.has_ended for each in interrupted):
                return
            await asyncio.sleep(FIRST_DELAY)

    def close(self) -> None:
        if self._driven is not None:
            self._driven.cancel()  # the range itself goes on, see ``ChildDriver``

    # -- starting -------------------------------------------------------------------------------

    async def _start_more(self) -> None:
        free = self._division.at_once - sum(each.is_active for each in self._ranges)
        new = [each for each in self._ranges if not each.status][: max(free, 0)]
        if not new:
            return
        request, redactor = self._request, self._port.redactor
        conversation = loads(redactor.redact_json_text(dump(request.conversation)))
        ranges = [each.rounds for each in new]
        await run_in_thread(
            start_ranges, self._port.claim, request, self._division.limit, ranges, conversation
        )
        for each in new:
            each.status = RunStatus.QUEUED
        self._delay = FIRST_DELAY

    def _drive_one(self, active: Sequence[_Range]) -> None:
        """Execute a range in this worker, whose slot the run holds anyway, so that rounds also run on a full server."""
        if self._driven is not None and not self._driven.done():
            return
        idle = [each for each in active if each.status != RunStatus.RUNNING]
        if idle:
            self._driven = asyncio.create_task(self._drive(idle[0].run_id))

    async def _drive(self, run_id: UUID) -> None:
        await self._port.driver.drive(run_id)

    async def _wait(self) -> None:
        driven = [self._driven] if self._driven is not None and not self._driven.done() else []
        if driven:
            await asyncio.wait(driven, timeout=self._delay)
        else:
            await asyncio.sleep(self._delay)
        self._delay = min(self._delay * 1.5, MAX_DELAY)

    # -- taking over ----------------------------------------------------------------------------

    async def _take_news(self, ranges: Sequence[_Range]) -> None:
        """Take over the steps and events that these ranges have had since the last look."""
        claim, by_id = self._port.claim, {str(each.run_id): each for each in ranges}
        ids, seqs = [each.run_id for each in ranges], [each.seq for each in ranges]
        rows = await retry_during_outage(
            partial(self._port.driver.db.fetch_value, NEWS, (claim.team_id, ids, seqs))
        )
        for row in rows:
            entry = by_id[row["id"]]
            if row["events"]:
                self._delay = FIRST_DELAY
                await self._take_events(entry, self._restore(row["events"]))
            # Last, so that a range whose last steps could not be recorded has not ended.
            entry.status, entry.is_due, entry.error = row["status"], row["is_due"], row["error"]
            entry.outputs = row["outputs"] or {}

    async def _take_events(self, entry: _Range, rows: Sequence[Mapping[str, Json]]) -> None:
        first = 0
        if entry.seq == 0:  # an earlier attempt may have taken over the first ones
            first = max(self._list_recorded(rows), default=-1) + 1
        for row in rows[first:]:
            await self._take_event(row)
            entry.seq = row["seq"]
        entry.seq = rows[-1]["seq"]

    def _list_recorded(self, rows: Sequence[Mapping[str, Json]]) -> Iterable[int]:
        for position, row in enumerate(rows):
            if row["step"] and self._recorder.is_recorded(parse_step_key(row["step"])):
                yield position

    async def _take_event(self, row: Mapping[str, Json]) -> None:
        if row["name"] in _OWN_EVENTS:
            return
        event = _EVENTS[row["name"]](**row["data"])
        if row["step"] is None:
            self._recorder.add_event(event)
            return
        for part in row["parts"] or ():
            await self._recorder.record(parse_step_record(part), ())
        await self._recorder.record(parse_step_record(row["step"]), (event,))

    def _restore(self, rows: Sequence[Mapping[str, Json]]) -> Sequence[Mapping[str, Json]]:
        redactor = self._port.redactor
        restored: Sequence[Mapping[str, Json]] = (
            loads(redactor.restore_json_text(dump(rows))) if redactor else rows
        )
        return restored

    # -- ends -----------------------------------------------------------------------------------

    def _find_failed_round(self) -> int | None:
        failed = (each.outputs.get("failed_round") for each in self._ranges if each.has_ended)
        return next((index for index in failed if index is not None), None)

    def _check_lost(self) -> None:
        """Raise the failure of a range that failed as a whole, such as by the deaths of three workers."""
        for each in self._ranges:
            if each.status in (RunStatus.FAILED, RunStatus.STOPPED):
                raise NodeFailed("RoundsLost", each.error or "The rounds were stopped")

    @staticmethod
    def _is_open(each: _Range) -> bool:
        return bool(each.status) and not each.has_ended


def _announce(run_ids: Iterable[UUID]) -> None:
    for run_id in run_ids:
        announce_cancel(run_id)
