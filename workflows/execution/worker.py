"""The runs of a worker process: one event loop in a thread of its own drives them all.

Celery's threads only say which run to advance and wait for it; everything else (leases, cancellations, partial text,
unattended runs) is done by the loop and continues without a broker.
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
from workflows.execution.driver import Drive, WorkerContext, drive_run
from workflows.execution.errors import FencedOut
from workflows.execution.events.bus import (
    RETRY_AFTER,
    Publisher,
    connect,
    get_bus_url,
    get_cancel_channel,
)
from workflows.execution.journal.outbox import Outbox
from workflows.execution.journal.partial_saver import save_texts
from workflows.execution.ports.adapters import Services
from workflows.execution.ports.models import build_models


log = logging.getLogger(__name__)

RECOVERY_INTERVAL = 1.0  # seconds between looks for runs that nobody holds
CANCEL_INTERVAL = 0.5
SAVE_INTERVAL = 1.0
SOFT_STOP_SECONDS = 5.0  # seconds that runs may go on after the worker was asked to stop


class Worker:
    """The worker of a process. ``start`` and ``stop`` may be called from any thread."""

    def __init__(self, *, capacity: int | None = None, name: str = "") -> None:
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{uuid7().hex[-8:]}"
        self.drives: dict[UUID, Drive] = {}
        self._capacity = capacity or settings.WORKER_THREADS
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._stopping = False
        self._lock = threading.Lock()

    # -- from other threads ---------------------------------------------------------------------

    def start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=lambda: asyncio.run(self._main()), name="runs", daemon=True
                )
                self._thread.start()
        self._ready.wait()

    def advance(self, run_id: UUID) -> None:
        """Drive this run if it can be claimed; return when this worker is done with it."""
        self.start()
        self._call(self._advance(run_id)).result()

    def stop(self, grace: float = SOFT_STOP_SECONDS) -> None:
        """Let runs end, then release the rest, so that another worker continues them at once."""
        if self._thread is None or self._loop is None:
            return
        if self._thread.is_alive():
            self.schedule_wind_down(grace)
        self._thread.join(timeout=grace + 10)

    def schedule_wind_down(self, grace: float = SOFT_STOP_SECONDS) -> None:
        """Schedule the stop from a signal handler, which may not wait."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._begin_wind_down, grace)

    def _call(self, work: Coroutine[Any, Any, Any]) -> Any:  # concurrent.futures.Future
        if self._loop is None:
            raise RuntimeError("the worker was not started")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    # -- in the loop ----------------------------------------------------------------------------

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._db = Database()
        publisher = Publisher(get_bus_url())
        self._outbox = Outbox(publisher)
        services = Services(models=build_models)
        self._context = WorkerContext(self._db, self._outbox, services)
        await self._db.open()
        duties = [
            asyncio.create_task(duty)
            for duty in (
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
            for duty in duties:
                duty.cancel()
            await asyncio.gather(*duties, return_exceptions=True)
            await self._outbox.drain()
            await publisher.close()
            await self._db.close()
            services.close()

    async def _advance(self, run_id: UUID) -> bool:
        """Drive the run, and return whether it could be claimed."""
        if self._stopping or run_id in self.drives:
            return False
        claim = await claims.claim_run(self._db, run_id, self.name)
        if claim is None:
            return False
        drive = self.drives[run_id] = Drive(claim)
        drive.task = asyncio.create_task(drive_run(drive, self._context))
        try:
            await asyncio.wait([drive.task])
            if not drive.task.cancelled() and (error := drive.task.exception()):
                log.error("run_dropped", exc_info=error, extra={"run": str(run_id)})
        finally:
            del self.drives[run_id]
        await self._start_next_turn(claim)
        return True

    async def _start_next_turn(self, finished: claims.Claim) -> None:
        """Start the turn that waited for this one; its own message came too early and was dropped."""
        next_run = await claims.find_next_turn(self._db, finished)
        if next_run is not None and not self._stopping:
            asyncio.get_running_loop().create_task(self._advance_or_park(next_run))

    def _begin_wind_down(self, grace: float) -> None:
        if not self._stopping:
            self._stopping = True
            self._winding = asyncio.create_task(self._stop_gracefully(grace))

    async def _stop_gracefully(self, grace: float) -> None:
        tasks = [drive.task for drive in self.drives.values() if drive.task]
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
        for drive in list(self.drives.values()):
            drive.hand_over()
        while self.drives:
            await asyncio.sleep(0.02)
        self._stopped.set()

    # -- duties ---------------------------------------------------------------------------------

    async def _repeat(self, seconds: float, duty: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds * random.uniform(0.9, 1.1))  # noqa: S311 - no secret
            try:
                await duty()
            except (DatabaseError, PoolTimeout, OSError) as error:
                log.warning("duty_waits", extra={"duty": duty.__name__, "why": str(error)})
            except Exception:
                log.exception("duty_broke", extra={"duty": duty.__name__})

    async def _renew(self) -> None:
        drives = list(self.drives.values())
        if not drives:
            return
        renewed = await claims.renew_claims(self._db, [drive.claim for drive in drives])
        for drive in drives:
            # A run that ended while the statement was on its way is gone from ``held`` by now.
            if drive.claim.run_id not in renewed and self._is_open(drive):
                drive.lose(FencedOut())

    async def _check_cancellations(self) -> None:
        if self.drives:
            for run_id in await claims.list_cancelled(
                self._db, [drive.claim for drive in self.drives.values()]
            ):
                self._cancel(run_id)

    async def _save_texts(self) -> None:
        await save_texts(self._db, list(self.drives.values()))

    async def _recover_runs(self) -> None:
        if self._stopping:
            return
        free = self._capacity - len(self.drives)
        for run_id in await recovery.find_runs(self._db, free):
            asyncio.get_running_loop().create_task(self._advance_or_park(run_id))

    async def _advance_or_park(self, run_id: UUID) -> None:
        try:
            if not await self._advance(run_id):
                await recovery.park_if_poisoned(self._db, run_id)
        except (DatabaseError, PoolTimeout) as error:
            log.warning("take_waits", extra={"run": str(run_id), "why": str(error)})

    def _cancel(self, run_id: UUID) -> None:
        drive = self.drives.get(run_id)
        if drive is not None:
            drive.stop()

    def _is_open(self, drive: Drive) -> bool:
        return self.drives.get(drive.claim.run_id) is drive and not (
            drive.journal is not None and drive.journal.finishing
        )


@cache
def get_worker() -> Worker:
    """Return the worker of this process."""
    return Worker()


async def listen_for_cancels(url: str | None, cancel: Callable[[UUID], None]) -> None:
    """Take cancel requests from the bus, which is quicker than the worker's own polling."""
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
