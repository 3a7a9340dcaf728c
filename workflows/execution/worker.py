"""The worker of a process: one event loop in its own thread executes all runs that the worker has claimed.

A message of Celery only says that there is something in the queue. The loop does everything else (claims in the fair
order of the teams, leases, cancellations, partial text, runs without a worker) and continues without a broker.
"""

import asyncio
import logging
import os
import random
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from uuid import UUID

import uvloop
from django.conf import settings
from psycopg import Error as DatabaseError
from psycopg_pool import PoolTimeout
from redis.exceptions import RedisError

from config import net
from config.ids import uuid7
from config.interpreter.data_stack import call_with_room
from config.monitoring.collectors import pools
from workflows.execution import claims, recovery
from workflows.execution.db import Database
from workflows.execution.driver import RunExecution, WorkerContext, execute_run
from workflows.execution.errors import FencedOut
from workflows.execution.events.bus import (
    RETRY_AFTER,
    Publisher,
    connect,
    get_bus_url,
    get_cancel_channel,
)
from workflows.execution.isolation import Isolation
from workflows.execution.journal.outbox import Outbox
from workflows.execution.ports.adapters import Services
from workflows.execution.ports.children import ChildDriver
from workflows.execution.ports.models import build_models
from workflows.execution.timers import (
    fire_timers_forever,
    list_plugged_work,
    work_when_due_forever,
)
from workflows.fair_shares import Shares


log = logging.getLogger(__name__)

RECOVERY_INTERVAL = 1.0  # seconds between searches for runs whose worker is dead
# Seconds between looks at the queue without a message, which another worker may have got or the broker lost.
QUEUE_INTERVAL = 1.0
CANCEL_INTERVAL = 0.5
SAVE_INTERVAL = 1.0
REPORT_INTERVAL = 5.0  # seconds between two reports that the worker is there
REPORT_STATEMENT = "select execution_report_worker(%s, %s, %s)"
FORGET_STATEMENT = "select execution_forget_worker(%s)"
SAVE_TEXTS_STATEMENT = "select execution_save_partials(%s, %s)"
GRACEFUL_STOP_SECONDS = 5.0  # seconds that runs may continue after a request to stop
# Further seconds for calls under way that must not be repeated: cut off, each would become a question for a person.
CALL_STOP_SECONDS = 20.0


class Worker:
    """The worker of a process. Its public methods may be called from any thread."""

    def __init__(
        self, *, capacity: int | None = None, name: str = "", is_isolated: bool = False
    ) -> None:
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{uuid7().hex[-8:]}"
        self.is_isolated = is_isolated
        self.executions: dict[UUID, RunExecution] = {}
        self._shares: Shares[UUID] = Shares(capacity or settings.WORKER_THREADS)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._stopping = False
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    # -- from other threads ---------------------------------------------------------------------

    def start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_loop, name="runs", daemon=True)
                self._thread.start()
        self._ready.wait()

    def wake(self) -> None:
        """Look at the queue now, because a run has been added to it."""
        self.start()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._queue_changed.set)

    def execute_run(self, run_id: UUID) -> None:
        """Execute this run out of its turn if it can be claimed, and block until it has ended, paused or been released."""
        self.start()
        if self._loop is None:
            raise RuntimeError("the worker was not started")
        execution = self._execute_out_of_turn(run_id)
        asyncio.run_coroutine_threadsafe(execution, self._loop).result()

    def stop(self, grace_seconds: float = GRACEFUL_STOP_SECONDS) -> None:
        """Wait up to ``grace_seconds`` for runs to end, then release the others for another worker.

        A run that makes a call that must not be repeated is released when the call has ended.
        """
        if self._thread is None or self._loop is None:
            return
        if self._thread.is_alive():
            self.schedule_stop(grace_seconds)
        self._thread.join(timeout=grace_seconds + CALL_STOP_SECONDS + 10)

    def schedule_stop(self, grace_seconds: float = GRACEFUL_STOP_SECONDS) -> None:
        """Begin to stop without waiting, as a signal handler must."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._begin_stop, grace_seconds)

    def _run_loop(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            call_with_room(runner.run, self._main())

    # -- in the loop ----------------------------------------------------------------------------

    async def _main(self) -> None:
        async with net.reuse_connections():
            await self._work_until_stopped()

    async def _work_until_stopped(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._queue_changed = asyncio.Event()
        self._claim_lock = asyncio.Lock()
        self._db = Database()
        publisher = Publisher(get_bus_url())
        self._outbox = Outbox(publisher)
        services = Services(models=build_models)
        children = ChildDriver(self._db, self._drive_run, self._start_task)
        self._context = WorkerContext(self._db, self._outbox, services, children)
        self._isolation = Isolation(self._db, self.name)
        await self._db.open()
        pools.add_pool("runs", self._db.get_pool_stats)
        background_tasks = [
            asyncio.create_task(background_task)
            for background_task in (
                self._repeat(claims.RENEW_EVERY, self._renew),
                self._repeat(CANCEL_INTERVAL, self._check_cancellations),
                self._repeat(SAVE_INTERVAL, self._save_texts),
                self._repeat(RECOVERY_INTERVAL, self._recover_runs),
                *self._list_tasks_of_shared_worker(),
                listen_for_cancels(get_bus_url(), self._cancel),
            )
        ]
        self._ready.set()
        try:
            await self._stopped.wait()
        finally:
            for task in background_tasks:
                task.cancel()
            await asyncio.gather(*background_tasks, return_exceptions=True)
            await self._isolation.stop()
            await self._context.connections.close()
            with suppress(DatabaseError, PoolTimeout, OSError):
                await self._db.fetch_value(FORGET_STATEMENT, (self.name,))
            await self._outbox.drain()
            await publisher.close()
            await self._db.close()
            services.close()

    def _list_tasks_of_shared_worker(self) -> list[Coroutine[Any, Any, None]]:
        """Return the tasks that an isolated worker leaves to the worker that started it."""
        if self.is_isolated:
            return []
        return [
            self._repeat(0, self._claim_runs),
            self._repeat(REPORT_INTERVAL, self._report, is_first_at_once=True),
            self._repeat(RECOVERY_INTERVAL, self._isolation.ensure_worker),
            fire_timers_forever(self._db, lambda: self._stopping, self._start_woken),
            *(
                work_when_due_forever(self._db, lambda: self._stopping, work)
                for work in list_plugged_work()
            ),
        ]

    async def _execute_run(self, run_id: UUID) -> None:
        """Claim and execute the run if it can be claimed."""
        if self._stopping or run_id in self.executions:
            return
        claim = await claims.claim_run(self._db, run_id, self.name, is_isolated=self.is_isolated)
        if claim is None:
            return
        await self._execute_claimed(claim, self._take_slot(claim))

    async def _execute_claimed(self, claim: claims.Claim, slot: "_Slot") -> None:
        with slot:
            while (earlier := self.executions.get(claim.run_id)) and earlier.task:
                # It has committed that the run is queued again, and ends in a moment.
                await asyncio.wait([earlier.task])
                await asyncio.sleep(0)
            execution = self.executions[claim.run_id] = RunExecution(claim)
            if self._stopping:
                execution.control.hold_calls()
            execution.task = asyncio.create_task(execute_run(execution, self._context))
            try:
                await asyncio.wait([execution.task])
                if not execution.task.cancelled() and (error := execution.task.exception()):
                    log.error("run_dropped", exc_info=error, extra={"run": str(claim.run_id)})
            finally:
                del self.executions[claim.run_id]
        self._queue_changed.set()  # for the slot, and for the conversation's next turn
        if not self.is_isolated:
            self._continue_parent(claim)

    def _take_slot(self, claim: claims.Claim) -> "_Slot":
        """Take a slot for the run. A child of a run of this worker has that of its parent, which waits for it."""
        parent_id = claim.row.get("parent_id")
        is_driven = parent_id is not None and UUID(parent_id) in self.executions
        return _Slot(self._shares, None if is_driven else claim.team_id)

    async def _execute_out_of_turn(self, run_id: UUID) -> None:
        await self._drive_run(run_id)
        # The look at the queue may have claimed the run at the same moment. It becomes an execution after the claim.
        async with self._claim_lock:
            pass
        await asyncio.sleep(0)
        running = self.executions.get(run_id)
        if running is not None and running.task is not None:
            await asyncio.wait([running.task])

    async def _drive_run(self, run_id: UUID) -> None:
        """Execute a run that somebody waits for, such as the parent of a child, unless this worker executes it already.

        It has a task of its own, so that it is not interrupted in the middle of a commit when its parent is.
        """
        if run_id not in self.executions:
            await asyncio.shield(self._start_task(self._execute_or_log(run_id)))
        running = self.executions.get(run_id)
        if running is not None and running.task is not None:
            await asyncio.wait([running.task])

    def _continue_parent(self, finished: claims.Claim) -> None:
        """Continue the parent of a child, in case it was paused until the child ended."""
        parent_id = finished.row.get("parent_id")
        if parent_id and UUID(parent_id) not in self.executions and not self._stopping:
            self._start_task(self._execute_or_log(UUID(parent_id)))

    def _start_task(self, coroutine: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Start a task, and keep a reference to it until it is done, because asyncio keeps only a weak one."""
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _begin_stop(self, grace_seconds: float) -> None:
        if not self._stopping:
            self._stopping = True
            self._start_task(self._stop_gracefully(grace_seconds))

    async def _stop_gracefully(self, grace_seconds: float) -> None:
        async with (
            self._claim_lock
        ):  # a claim that is being made becomes an execution, or is released
            pass
        self._isolation.begin_stop()
        for execution in self.executions.values():
            execution.control.hold_calls()
        tasks = [execution.task for execution in self.executions.values() if execution.task]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_seconds)
        await self._hand_over_runs(asyncio.get_running_loop().time() + CALL_STOP_SECONDS)
        self._stopped.set()

    async def _hand_over_runs(self, calls_end_at: float) -> None:
        """Release all runs, those whose calls must not be repeated after these calls or at the given time."""
        while self.executions:
            is_too_late = asyncio.get_running_loop().time() >= calls_end_at
            for execution in list(self.executions.values()):
                if not execution.handing_over and (is_too_late or not execution.control.is_calling):
                    execution.hand_over()
            await asyncio.sleep(0.02)

    # -- background tasks -----------------------------------------------------------------------

    async def _repeat(
        self, seconds: float, task: Callable[[], Awaitable[None]], *, is_first_at_once: bool = False
    ) -> None:
        delay = 0.0 if is_first_at_once else seconds
        while True:
            await asyncio.sleep(delay * random.uniform(0.9, 1.1))  # noqa: S311 - no secret
            delay = seconds
            try:
                await task()
            except (DatabaseError, PoolTimeout, OSError) as error:
                log.warning("task_delayed", extra={"task": task.__name__, "why": str(error)})
            except Exception:
                log.exception("task_failed", extra={"task": task.__name__})

    async def _renew(self) -> None:
        executions = list(self.executions.values())
        if not executions:
            return
        renewed = await claims.renew_claims(self._db, [execution.claim for execution in executions])
        for execution in executions:
            # A run that ended during the statement could not be renewed, but is not lost.
            if execution.claim.run_id not in renewed and self._is_current(execution):
                execution.lose(FencedOut())

    async def _report(self) -> None:
        values = (self.name, self._shares.capacity, len(self.executions))
        await self._db.fetch_value(REPORT_STATEMENT, values)

    async def _check_cancellations(self) -> None:
        if running := [execution.claim for execution in self.executions.values()]:
            for run_id in await claims.list_cancelled(self._db, running):
                self._cancel(run_id)

    async def _save_texts(self) -> None:
        """Save the text that the runs have streamed since the last save, in one statement."""
        rows: list[str] = []
        teams = set()
        for execution in self.executions.values():
            journal, claim = execution.journal, execution.claim
            if journal is None or not journal.unsaved:
                continue
            journal.unsaved = False
            if (segments := journal.dump_segments()) is not None:
                teams.add(claim.team_id)
                rows.append(
                    f'{{"id":"{uuid7()}","team":"{claim.team_id}","run":"{claim.run_id}",'
                    f'"attempt":{claim.attempt},"segments":{segments}}}'
                )
        if rows:
            await self._db.fetch_rows(SAVE_TEXTS_STATEMENT, (list(teams), f"[{','.join(rows)}]"))

    async def _claim_runs(self) -> None:
        """Wait until the queue may have changed, and claim runs while there are some and slots for them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(QUEUE_INTERVAL * random.uniform(0.9, 1.1)):  # noqa: S311 - no secret
                await self._queue_changed.wait()
        self._queue_changed.clear()
        async with self._claim_lock:
            await self._fill_slots()

    async def _fill_slots(self) -> None:
        while not self._stopping and self._shares.free > 0:
            claim = await claims.claim_next_run(self._db, self.name, self._shares)
            if claim is None:
                return
            if self._is_stopping():  # since the loop's own check
                await claims.release_run(self._db, claim)
                return
            slot = _Slot(self._shares, claim.team_id)
            self._start_task(self._execute_claimed(claim, slot))

    def _is_stopping(self) -> bool:
        return self._stopping

    async def _recover_runs(self) -> None:
        if self._stopping:
            return
        free_slots = self._count_free_slots()
        abandoned_runs = await recovery.find_abandoned_runs(
            self._db, self._shares.list_full(), free_slots, is_isolated=self.is_isolated
        )
        for run_id, team_id in abandoned_runs:
            # After an outage, the worker may find runs that it is still executing; it renews their leases next.
            if run_id not in self.executions and self._shares.may_take(team_id):
                self._start_task(self._execute_or_log(run_id))

    def _start_woken(self, runs: Sequence[UUID]) -> Sequence[UUID]:
        """Look at the queue, which these runs have come into, and return those for which there are no free slots here."""
        self._queue_changed.set()
        return runs[max(self._shares.free, 0) :]

    def _count_free_slots(self) -> int:
        free_slots = self._shares.free
        if not self.is_isolated:
            return free_slots
        # At most one run that has not finished a step, so that a crash leaves no doubt about whose fault it was.
        return min(free_slots, 0 if any(map(_is_unproven, self.executions.values())) else 1)

    async def _execute_or_log(self, run_id: UUID) -> None:
        try:
            await self._execute_run(run_id)
        except (DatabaseError, PoolTimeout) as error:
            log.warning("claim_delayed", extra={"run": str(run_id), "why": str(error)})

    def _cancel(self, run_id: UUID) -> None:
        execution = self.executions.get(run_id)
        if execution is not None:
            execution.stop()

    def _is_current(self, execution: RunExecution) -> bool:
        return self.executions.get(execution.claim.run_id) is execution and not (
            execution.journal is not None and execution.journal.finishing
        )


def _is_unproven(execution: RunExecution) -> bool:
    """Return whether this attempt has not finished a step yet."""
    return execution.journal is None or not execution.journal.has_progress


class _Slot:
    """A slot of the worker that a team holds until the block ends; without a team it is none."""

    def __init__(self, shares: Shares[UUID], team_id: UUID | None) -> None:
        self._shares, self._team_id = shares, team_id
        if team_id is not None:
            shares.take(team_id)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self._team_id is not None:
            self._shares.give_back(self._team_id)


@cache
def get_worker() -> Worker:
    """Return the worker of this process."""
    return Worker()


async def listen_for_cancels(url: str | None, cancel: Callable[[UUID], None]) -> None:
    """Call ``cancel`` for each cancel request on the bus, which is faster than polling. Reconnect until cancelled."""
    if url is None:
        return
    while True:
        redis = connect(url)
        try:
            async with redis.pubsub() as subscription:
                await subscription.subscribe(get_cancel_channel())
                async for message in subscription.listen():
                    if message["type"] == "message":
                        _handle_message(message["data"], cancel)
        except (RedisError, OSError) as error:
            log.debug("cancel_channel_lost", extra={"why": str(error)})
            await asyncio.sleep(RETRY_AFTER)
        finally:
            await redis.aclose()


def _handle_message(text: str, cancel: Callable[[UUID], None]) -> None:
    try:
        cancel(UUID(text))
    except ValueError:
        log.warning("cancel_not_understood", extra={"text": text[:80]})
