"""The journal of a run in PostgreSQL: events, steps and intents, fenced by the attempt.

One commit at a time writes the batch of all rows that were added since the previous commit. A step with an outside
effect waits for the commit of its intent; quick nodes don't wait, and their rows are committed in groups.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from psycopg import DataError, IntegrityError, OperationalError
from psycopg.errors import QueryCanceled
from psycopg_pool import PoolTimeout

from config.ids import make_uuid7_text
from config.monitoring.metrics import count_steps, count_tokens
from config.monitoring.tracing import record_span
from config.postgres.outages import is_outage
from config.redaction import NO_REDACTION, Redactor
from config.sql import build_call
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import Event, TextChunk
from workflows.engine.runtime.step_records import StepKey, StepRecord
from workflows.engine.runtime.waits import OpenWait
from workflows.execution.claims import LEASE, Claim
from workflows.execution.db import Database
from workflows.execution.errors import FencedOut, JournalRefused, JournalUnreachable
from workflows.execution.journal.codec import (
    build_step_row,
    build_wait_row,
    dump,
    dump_event,
    make_idempotency_key,
)
from workflows.execution.journal.outbox import Outbox
from workflows.execution.journal.partials import Transcript


log = logging.getLogger(__name__)

GROUP_SIZE = 20  # steps of quick nodes that one commit contains at most
GROUP_DELAY = 0.005  # seconds that such a commit may be delayed
CLOCK_RESOLUTION = 0.001  # seconds; of the loop's clock
EFFECT_DELAY = 0.001  # seconds in which the next step's intent may join the result of an effect

_COMMON_PARAMETERS = (
    *("p_team", "p_run", "p_attempt", "p_number", "p_seq", "p_is_resent"),
    *("p_events", "p_steps"),
)
APPEND = "select " + build_call("execution_append", *_COMMON_PARAMETERS, "p_intents")
FINISH = "select " + build_call("execution_finish", *_COMMON_PARAMETERS, "p_segments", "p_end")
# An SQL query for one boolean with its values, which the commit of a run's end answers.
Question = tuple[str, Sequence[object]]
OPEN_WAIT = "select " + build_call("execution_open_wait", "p_team", "p_run", "p_attempt", "p_wait")
PAUSE = "select " + build_call("execution_pause", *_COMMON_PARAMETERS, "p_segments", "p_pause")


@dataclass(slots=True)
class Batch:
    """The rows of the next commit, as JSON text."""

    events: list[tuple[str, str]] = field(default_factory=list)  # name, data
    steps: list[str] = field(default_factory=list)
    intents: list[str] = field(default_factory=list)
    waiters: list["asyncio.Future[None]"] = field(default_factory=list)  # done after the commit
    # Of the steps in seconds, by kind and status, for the metrics.
    durations: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.events or self.steps or self.intents)

    def add_duration(self, record: StepRecord) -> None:
        self.durations.setdefault((record.kind, record.status), []).append(record.elapsed)

    def to_events_json(self) -> str | None:
        return _join_array([f'["{name}",{data}]' for name, data in self.events])


class DurableJournal:
    """Implements ``engine.ports.Journal`` for one attempt at one run."""

    def __init__(
        self,
        claim: Claim,
        db: Database,
        outbox: Outbox,
        *,
        redactor: Redactor = NO_REDACTION,
        titles: Mapping[str, str] | None = None,
        on_lost: Callable[[Exception], None] | None = None,
    ) -> None:
        self._claim, self._db, self._outbox = claim, db, outbox
        self._redactor, self._streamed = redactor, redactor.stream()
        # Most runs have no secrets, and then each look for them costs as much as to write the JSON.
        self._mask = redactor.redact_json_text if redactor else _keep
        self._text_source: tuple[str, str | None] | None = None  # node and source of the last text
        self._titles = titles or {}
        self._on_lost = on_lost
        self.seq = claim.last_seq  # of the last committed event
        self.commit_count = claim.commit_count  # with those of earlier attempts
        self._position = claim.last_seq  # of the last event, committed or not
        self._batch = Batch()
        self._open_steps: set[StepKey] = set()
        # Steps that a lost worker began; calling one of them is a repeated call.
        self._begun_steps: set[StepKey] = set()
        self._writer: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        # By the loop's clock, when the timer ends and when to commit the batch.
        self._timer_ends = 0.0
        self._due: float | None = None
        self._lost: Exception | None = None
        self._messages = outbox.open_run(claim.run_id, claim.attempt, claim.last_seq)
        self.transcript = Transcript()
        self.finishing = False  # the last commit has begun
        self.has_progress = False  # this attempt has finished a step or a part of one
        self.unsaved = False  # text was added since the last save

    # -- engine.ports.Journal -------------------------------------------------------------------

    async def intend(self, step: StepKey) -> None:
        self._open_steps.add(step)
        row = {
            "node_key": step.node_id,
            "rounds": step.rounds,
            "idempotency_key": make_idempotency_key(str(self._claim.run_id), step),
            "is_repeated": step in self._begun_steps,
        }
        self._batch.intents.append(dump(row))
        await self._wait_for_commit(self._batch)

    def expect_repeats(self, begun_steps: Iterable[StepKey]) -> None:
        """Count the calls of these steps as repeated, because a lost worker may have made them before."""
        self._begun_steps.update(begun_steps)

    async def record(self, record: StepRecord, events: Sequence[Event]) -> None:
        if self._text_source is not None and record.key.node_id in self._text_source:
            self._end_text()
        batch = self._batch
        for event in events:
            self._add(event)
        row = build_step_row(record)
        row["id"] = make_uuid7_text()
        row["title"] = self._titles.get(record.key.node_id, "")
        batch.steps.append(self._mask(dump(row)))
        if not record.key.part:
            batch.add_duration(record)
            count_tokens(record.prompt_tokens, record.completion_tokens)
            record_span(
                "step",
                record.started_at,
                record.elapsed,
                kind=record.kind,
                status=record.status,
            )
        if record.key.part:
            # Other calls of the step may still be running, and none of them would wait for this commit.
            self._schedule_commit(EFFECT_DELAY)
        elif record.key in self._open_steps:
            # Not awaited: only the next effect must wait for this commit, and it waits for the commit of its intent,
            # which is this one or a later one.
            self._open_steps.discard(record.key)
            self._schedule_commit(EFFECT_DELAY)
        elif len(batch.steps) >= GROUP_SIZE:
            await self._commit_group()
        else:
            self._schedule_commit()

    def add_event(self, event: Event) -> None:
        self._add(event)
        self._schedule_commit()

    def publish(self, event: Event) -> None:
        if not isinstance(event, TextChunk):
            self.add_event(event)
            return
        if self._text_source != (event.node, event.source):
            self._end_text()
            self._text_source = (event.node, event.source)
        self._stream_text(self._streamed.add(event.text))

    async def open_wait(self, open_wait: OpenWait) -> str:
        self._raise_if_lost()
        claim, row = self._claim, dump(build_wait_row(open_wait))
        values = (claim.team_id, claim.run_id, claim.attempt, self._mask(row))
        try:
            return str(await self._fetch_with_retries(OPEN_WAIT, values, values))
        except (FencedOut, JournalUnreachable, JournalRefused) as error:
            self._lose(error)
            raise

    async def flush(self) -> None:
        while self._batch:
            await self._wait_for_commit(self._batch)
        await self.wait_for_writer()  # includes a commit that began earlier
        if self._lost is not None:
            raise self._lost

    # -- ends -----------------------------------------------------------------------------------

    async def finish(
        self, event: Event, state: Mapping[str, Json], question: Question | None = None
    ) -> bool:
        """Write the last event and the run's final state, in one commit with all unwritten rows. Answer the question."""
        if question is None:
            await self._commit_last(FINISH, [event], state)
            return False
        query, values = question
        statement = f"select case when ({FINISH}) then ({query}) end"
        return bool(await self._commit_last(statement, [event], state, values))

    async def pause(self, events: Sequence[Event], state: Json) -> None:
        """Write the events and the state of a paused run, which end this attempt at the run."""
        await self._commit_last(PAUSE, events, state)

    async def _commit_last(
        self, statement: str, events: Sequence[Event], state: Json, values: Sequence[object] = ()
    ) -> object:
        """Commit everything with a statement, and return its value. ``values`` follow those of the commit."""
        await self.wait_for_writer()
        self._raise_if_lost()
        self._stop_timer()
        self._end_text()
        self.finishing = True
        for event in events:
            self._add(event)
        batch, self._batch = self._batch, Batch()
        more_values = self.dump_segments(), self._mask(dump(state)), *values
        commit = asyncio.create_task(self._commit(statement, batch, more_values))
        self._writer = commit
        value = await asyncio.shield(commit)
        self._raise_if_lost()
        self._outbox.schedule(0)  # who waits for the end waits for nothing else
        return value

    def dump_segments(self) -> str | None:
        """Return the run's text so far as JSON of its segments, with secrets masked; None without text."""
        rows = self.transcript.to_rows()
        return self._mask(dump(rows)) if rows else None

    def close(self) -> None:
        self._stop_timer()
        self._outbox.close_run(self._claim.run_id, self._messages)

    # -- commits --------------------------------------------------------------------------------
    # Commits run in a separate task, so that stopping a run that waits for a commit doesn't interrupt the commit.

    async def _wait_for_commit(self, batch: Batch) -> None:
        """Return when this batch is committed. Rows may be added to it until its commit begins."""
        self._raise_if_lost()
        # One future for each caller: the cancellation of one caller doesn't concern the others.
        waiter = asyncio.get_running_loop().create_future()
        batch.waiters.append(waiter)
        self._write_now()
        await waiter
        self._raise_if_lost()

    def _write_now(self) -> None:
        self._due = None
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._batch and self._lost is None:
            batch, self._batch = self._batch, Batch()
            await self._commit(APPEND, batch, (_join_array(batch.intents),))

    async def _commit(
        self, statement: str, batch: Batch, more_values: tuple[object, ...]
    ) -> object:
        """Commit the batch, and return the statement's value. ``more_values`` are those after the common ones."""
        claim, number = self._claim, self.commit_count + 1
        place = (claim.team_id, claim.run_id, claim.attempt, number, self.seq + len(batch.events))
        rows = (batch.to_events_json(), _join_array(batch.steps), *more_values)
        value: object = None
        try:
            value = await self._fetch_with_retries(
                statement, (*place, False, *rows), (*place, True, *rows)
            )
        except (FencedOut, JournalUnreachable, JournalRefused) as error:
            self._lose(error)
        else:
            self.commit_count = number
            self._publish_batch(batch)
        for waiter in batch.waiters:
            if not waiter.done():  # cancelled
                waiter.set_result(None)
        return value

    async def wait_for_writer(self) -> None:
        """Return when no commit is under way."""
        while self._writer is not None and not self._writer.done():
            await asyncio.shield(self._writer)

    def _publish_batch(self, batch: Batch) -> None:
        for name, data in batch.events:
            self.seq += 1
            self._messages.add_event(self.seq, name, data)
        if batch.events:
            self._outbox.schedule_events(self._messages)
        for (kind, status), durations in batch.durations.items():
            count_steps(kind, status, durations)
        self.has_progress = self.has_progress or bool(batch.steps)

    def _lose(self, error: Exception) -> None:
        self._lost = error  # raised by the next write of any caller
        log.warning("journal_lost", extra={"run": self._claim.run_id, "why": str(error)})
        if self._on_lost is not None:
            self._on_lost(error)

    async def _fetch_with_retries(
        self, statement: str, values: tuple[object, ...], values_when_resent: tuple[object, ...]
    ) -> object:
        """Commit, and return the function's value.

        While the database is away, retry until it is back: no other worker can claim the run meanwhile, or the attempt
        number refuses the commit. Other failures, such as a full disk, are retried during the lease. The SQL functions
        recognize a commit whose reply was lost: by its number, or by the row that is there. Null means that another
        attempt has taken over, which raises FencedOut.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + LEASE.total_seconds()
        delay = 0.05
        while True:
            try:
                value: object = await self._db.fetch_value(statement, values)
                break
            except (OperationalError, PoolTimeout) as error:
                is_late = loop.time() + delay > deadline and not is_outage(error)
                if is_late or isinstance(error, QueryCanceled):
                    raise JournalUnreachable(str(error)) from error
                log.warning("journal_waits", extra={"run": self._claim.run_id, "why": str(error)})
                values = values_when_resent
                await asyncio.sleep(delay)
                delay = min(delay * 2, 1.0)
            except (DataError, IntegrityError) as rejection:
                raise JournalRefused(str(rejection)) from rejection
        if value is None:
            raise FencedOut
        return value

    def _raise_if_lost(self) -> None:
        if self._lost is not None:
            raise self._lost

    # -- grouping -------------------------------------------------------------------------------

    def _schedule_commit(self, delay: float = GROUP_DELAY) -> None:
        """Commit the batch after the delay in seconds, or sooner if that is scheduled."""
        if self._lost is not None or (self._due is not None and delay >= GROUP_DELAY):
            return  # what is due by now is due sooner
        loop = asyncio.get_running_loop()
        when = loop.time() + delay
        if self._due is None or when < self._due:
            self._due = when
        # A timer is left alone when its batch is committed sooner: it looks for what is due. To cancel one and to start
        # another for each step takes longer.
        if self._timer is None or self._due < self._timer_ends:
            self._stop_timer()
            self._start_timer(loop, self._due)

    def _write_when_due(self) -> None:
        self._timer = None
        if self._due is None:
            return
        loop = asyncio.get_running_loop()
        # uvloop counts whole milliseconds: a timer for less would fire at once, again and again.
        if self._due - loop.time() > CLOCK_RESOLUTION / 2:
            self._start_timer(loop, self._due)
        else:
            self._write_now()

    async def _commit_group(self) -> None:
        """Begin to commit a full group, after the group before it is committed."""
        await self.wait_for_writer()
        self._raise_if_lost()
        if self._batch:
            self._write_now()
            await asyncio.sleep(0)

    def _start_timer(self, loop: asyncio.AbstractEventLoop, ends: float) -> None:
        self._timer, self._timer_ends = loop.call_at(ends, self._write_when_due), ends

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- rows -----------------------------------------------------------------------------------

    def _add(self, event: Event) -> None:
        self._batch.events.append((event.name, self._mask(dump_event(event))))
        self._position += 1

    # -- text -----------------------------------------------------------------------------------

    def _stream_text(self, text: str) -> None:
        if self._text_source is None or not text:
            return
        node, source = self._text_source
        offset = self.transcript.add(node, source, text, self._position)
        self.unsaved = True
        self._messages.add_text(self._position, offset, node, source, text)
        self._outbox.schedule_text(self._messages)

    def _end_text(self) -> None:
        """Send the rest of the source's text, which was held back in case a secret began in it."""
        self._stream_text(self._streamed.end())
        self._text_source = None


def _keep(text: str) -> str:
    return text


def _join_array(rows: Sequence[str]) -> str | None:
    return f"[{','.join(rows)}]" if rows else None
