"""The worker of a process: one event loop in its own thread executes all runs that the worker has claimed.

Celery's threads only pass on the id of a run and wait until it is executed. The loop does everything else (leases,
cancellations, partial text, runs without a worker) and continues without a broker.
"""

import asyncio
import logging
import os
import random
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from psycopg import Error as DatabaseError
from psycopg_pool import PoolTimeout
from redis.exceptions import RedisError

from config.ids import uuid7
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
from workflows.execution.journal.outbox import Outbox
from workflows.execution.ports.adapters import Services
from workflows.execution.ports.children import ChildDriver
from workflows.execution.ports.models import build_models


log = logging.getLogger(__name__)

RECOVERY_INTERVAL = 1.0  # seconds between searches for runs without a worker
CANCEL_INTERVAL = 0.5
SAVE_INTERVAL = 1.0
SAVE_TEXTS_STATEMENT = "select execution_save_partials(%s, %s)"
GRACEFUL_STOP_SECONDS = 5.0  # seconds that runs may continue after a request to stop


class Worker:
    """The worker of a process. Its public methods may be called from any thread."""

    def __init__(self, *, capacity: int | None = None, name: str = "") -> None:
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{uuid7().hex[-8:]}"
        self.executions: dict[UUID, RunExecution] = {}
        self._capacity = capacity or settings.WORKER_THREADS
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
                self._thread = threading.Thread(
                    target=lambda: asyncio.run(self._main()), name="runs", daemon=True
                )
                self._thread.start()
        self._ready.wait()

    def execute_run(self, run_id: UUID) -> None:
        """Execute this run if it can be claimed, and block until it has ended, paused or been released."""
        self.start()
        if self._loop is None:
            raise RuntimeError("the worker was not started")
        asyncio.run_coroutine_threadsafe(self._execute_run(run_id), self._loop).result()

    def stop(self, grace_seconds: float = GRACEFUL_STOP_SECONDS) -> None:
        """Wait up to ``grace_seconds`` for runs to end, then release the others for another worker."""
        if self._thread is None or self._loop is None:
            return
        if self._thread.is_alive():
            self.schedule_stop(grace_seconds)
        self._thread.join(timeout=grace_seconds + 10)

    def schedule_stop(self, grace_seconds: float = GRACEFUL_STOP_SECONDS) -> None:
        """Begin to stop without waiting, as a signal handler must."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._begin_stop, grace_seconds)

    # -- in the loop ----------------------------------------------------------------------------

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._db = Database()
        publisher = Publisher(get_bus_url())
        self._outbox = Outbox(publisher)
        services = Services(models=build_models)
        children = ChildDriver(self._db, self._drive_child, self._start_task)
        self._context = WorkerContext(self._db, self._outbox, services, children)
        await self._db.open()
        background_tasks = [
            asyncio.create_task(background_task)
            for background_task in (
                self._repeat(claims.RENEW_EVERY, self._renew),
                self._repeat(CANCEL_INTERVAL, self._check_cancellations),
                self._repeat(SAVE_INTERVAL, self._save_texts),
                self._repeat(RECOVERY_INTERVAL, self._recover_runs),
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
            await self._outbox.drain()
            await publisher.close()
            await self._db.close()
            services.close()

    async def _execute_run(self, run_id: UUID) -> bool:
        """Execute the run. Return False if it could not be claimed."""
        if self._stopping or run_id in self.executions:
            return False
        claim = await claims.claim_run(self._db, run_id, self.name)
        if claim is None:
            return False
        execution = self.executions[run_id] = RunExecution(claim)
        execution.task = asyncio.create_task(execute_run(execution, self._context))
        try:
            await asyncio.wait([execution.task])
            if not execution.task.cancelled() and (error := execution.task.exception()):
                log.error("run_dropped", exc_info=error, extra={"run": str(run_id)})
        finally:
            del self.executions[run_id]
        await self._start_next_turn(claim)
        self._continue_parent(claim)
        return True

    async def _drive_child(self, run_id: UUID) -> None:
        """Execute a child run for its parent, which holds this worker's slot for both.

        The child has a task of its own, so that it is not interrupted in the middle of a commit when its parent is.
        """
        running = self.executions.get(run_id)
        if running is not None and running.task is not None:
            await asyncio.wait([running.task])
            return
        await asyncio.shield(self._start_task(self._execute_or_fail_poisoned(run_id)))

    def _continue_parent(self, finished: claims.Claim) -> None:
        """Continue the parent of a child, in case it was paused until the child ended."""
        parent_id = finished.row.get("parent_id")
        if parent_id and UUID(parent_id) not in self.executions and not self._stopping:
            self._start_task(self._execute_or_fail_poisoned(UUID(parent_id)))

    async def _start_next_turn(self, finished: claims.Claim) -> None:
        """Start the run of the conversation's next turn, which could not be claimed during the finished turn."""
        next_run = await claims.find_next_turn(self._db, finished)
        if next_run is not None and not self._stopping:
            self._start_task(self._execute_or_fail_poisoned(next_run))

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
        tasks = [execution.task for execution in self.executions.values() if execution.task]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_seconds)
        for execution in list(self.executions.values()):
            execution.hand_over()
        while self.executions:
            await asyncio.sleep(0.02)
        self._stopped.set()

    # -- background tasks -----------------------------------------------------------------------

    async def _repeat(self, seconds: float, task: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds * random.uniform(0.9, 1.1))  # noqa: S311 - no secret
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

    async def _recover_runs(self) -> None:
        if self._stopping:
            return
        free_slots = self._capacity - len(self.executions)
        for run_id in await recovery.find_runs(self._db, free_slots):
            self._start_task(self._execute_or_fail_poisoned(run_id))

    async def _execute_or_fail_poisoned(self, run_id: UUID) -> None:
        try:
            if not await self._execute_run(run_id):
                await recovery.fail_if_poisoned(self._db, run_id)
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
