"""A pool that keeps a few runners warm and gives each to one job at a time.

It runs in separate threads, so that any number of event loops (of a Celery worker, a web server or a test) can wait
for it. The jobs of teams take turns, see ``places``. After a fork the child starts with an empty pool.
"""

import asyncio
import atexit
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workflows.sandbox import frames
from workflows.sandbox.places import Places, get_owner
from workflows.sandbox.process import JobNotTaken, Program, Runner, RunnerGone, RunnerLate


__all__ = ["RunnerGone", "RunnerLate", "RunnerPool"]

_MAX_JOBS_PER_RUNNER = 2_000  # a new runner then replaces it, which bounds slow leaks
# The jobs may loop, so their number is that of the processors twice: a team alone gets all of them but one, and a job of
# the next team finds a place and a processor's share at once.
_MAX_PLACES = 8


class _Job:
    """One call of the pool, with the runner that executes it, and whether its caller has dropped it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runner: Runner | None = None
        self.is_dropped = False

    def attach(self, runner: Runner) -> None:
        with self._lock:
            self._runner = runner
            if self.is_dropped:
                runner.interrupt()

    def detach(self) -> None:
        """Detach the runner, so that dropping the job no longer interrupts it."""
        with self._lock:
            self._runner = None

    def drop(self) -> None:
        with self._lock:
            self.is_dropped = True
            if self._runner is not None:
                self._runner.interrupt()


class RunnerPool:
    """Runs up to ``size`` jobs at a time in processes of one program, and keeps as many of them idle."""

    def __init__(
        self,
        size: int | None = None,
        program: Program = "child",
        max_request: int = frames.MAX_REQUEST_BYTES,
    ) -> None:
        self._max_request = max_request
        self.size = size or min(_MAX_PLACES, 2 * max(2, os.cpu_count() or 1))
        self._program = program
        self._close_count = 0
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[tuple[Runner, int]] = []
        self._busy: set[Runner] = set()
        self._is_starting = False  # a spare one
        self._executor: ThreadPoolExecutor | None = None
        self._places = Places(self.size)

    async def call(self, message: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        """Run a job when it has a place. Its ``seconds`` begin then.

        Raises RunnerGone or RunnerLate after killing the runner, which cancelling the call does, too.
        """
        self._reset_after_fork()
        async with self._places.hold(get_owner()):
            job = _Job()
            try:
                return await asyncio.get_running_loop().run_in_executor(
                    self._get_executor(), self.call_sync, message, seconds, job
                )
            except asyncio.CancelledError:
                job.drop()
                raise

    def call_sync(
        self, message: dict[str, Any], seconds: float, job: _Job | None = None
    ) -> dict[str, Any]:
        """Run a job, as ``call`` does, in this thread and without waiting for a place."""
        job = job or _Job()
        try:
            return self._call_once(message, seconds, job)
        except JobNotTaken:  # the runner had died while it was idle, or as it was given the job
            if job.is_dropped:
                raise
        return self._call_once(message, seconds, job, use_new=True)

    def _call_once(
        self, message: dict[str, Any], seconds: float, job: _Job, *, use_new: bool = False
    ) -> dict[str, Any]:
        runner, jobs = self._start() if use_new else self._acquire()
        self._keep_spare()
        job.attach(runner)
        try:
            try:
                reply = runner.call(message, seconds=seconds)
            finally:
                job.detach()
        except ValueError:  # raised before anything was sent
            self._release(runner, jobs)
            raise
        except BaseException:
            self._end(runner)
            raise
        if reply.get("spent") or jobs + 1 >= _MAX_JOBS_PER_RUNNER:
            self._end(runner)
        else:
            self._release(runner, jobs + 1)
        return reply

    async def warm(self) -> None:
        """Start the first runner, so that the first render is as fast as the others."""
        await asyncio.get_running_loop().run_in_executor(self._get_executor(), self._warm)

    def list_pids(self) -> list[int]:
        """Return the process id of every live runner, for measurements."""
        with self._lock:
            return [runner.pid for runner in (*(idle for idle, _ in self._idle), *self._busy)]

    def close(self) -> None:
        """End every runner. A later call starts new ones."""
        if self._pid != os.getpid():
            self._reset()
            return
        with self._lock:
            runners = [*(runner for runner, _ in self._idle), *self._busy]
            self._idle.clear()
            self._close_count += 1
            executor, self._executor = self._executor, None
        for runner in runners:
            runner.kill()
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)

    def _get_executor(self) -> ThreadPoolExecutor:
        self._reset_after_fork()
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self.size + 2, thread_name_prefix="runner")
            return self._executor

    def _warm(self) -> None:
        self._release(*self._acquire())

    def _acquire(self) -> tuple[Runner, int]:
        """Return an idle runner, or else a new one, and the number of jobs that it has done."""
        self._reset_after_fork()
        while True:
            with self._lock:
                if not self._idle:
                    break
                runner, jobs = self._idle.pop()
                self._busy.add(runner)
            if runner.is_alive():
                return runner, jobs
            self._end(runner)
        return self._start()

    def _keep_spare(self) -> None:
        """Start another runner in the background if none is idle: the next job may be another team's first.

        A start takes long on a machine whose processors are busy with the jobs of the first team.
        """
        with self._lock:
            is_needed = not self._idle and not self._is_starting and len(self._busy) < self.size
            if not is_needed or self._executor is None:
                return
            self._is_starting = True
            self._executor.submit(self._start_spare)

    def _start_spare(self) -> None:
        try:
            self._release(*self._start())
        except (RunnerGone, RunnerLate, OSError):
            pass  # the next job starts one itself
        finally:
            self._is_starting = False

    def _start(self) -> tuple[Runner, int]:
        close_count = self._close_count
        runner = Runner(self._program, self._max_request)
        with self._lock:
            self._busy.add(runner)
            was_closed = close_count != self._close_count
        if was_closed:  # close() did not know this runner, so it must be ended here
            self._end(runner)
            raise RunnerGone
        return runner, 0

    def _release(self, runner: Runner, jobs: int) -> None:
        with self._lock:
            self._busy.discard(runner)
            if len(self._idle) < self.size:
                self._idle.append((runner, jobs))
                return
        runner.kill()

    def _end(self, runner: Runner) -> None:
        with self._lock:
            self._busy.discard(runner)
        runner.kill()

    def _reset_after_fork(self) -> None:
        """Give up inherited runners after a fork, because they belong to the process that started them."""
        if self._pid == os.getpid():
            return
        inherited = [*(runner for runner, _ in self._idle), *self._busy]
        self._reset()
        for runner in inherited:
            runner.close_pipes()


_pools: weakref.WeakSet[RunnerPool] = weakref.WeakSet()


@atexit.register
def _close_pools() -> None:
    for pool in list(_pools):
        pool.close()
