"""Execute runs that may kill their worker in a process of their own.

When a worker dies, all runs that it was executing are found again, and only one of them can be the reason. A run over
which two workers died without finishing a step is executed in a process that executes nothing else beside it. If that
process dies while the worker that started it lives, the run is the reason, and it is failed.
"""

import asyncio
import logging
import os
import sys

from config.env import ROOT
from workflows.execution import recovery
from workflows.execution.db import Database


log = logging.getLogger(__name__)

MODULE = "workflows.execution.isolated_worker"
# For the process to hand its run over, which it does after a call that must not be repeated; see worker.py.
STOP_SECONDS = 32.0


class Isolation:
    """Starts an isolated worker while there are runs for it, and fails the run over which it dies."""

    def __init__(self, db: Database, worker: str) -> None:
        self._db = db
        self._name = f"{worker}:isolated"
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._is_stopping = False

    async def ensure_worker(self) -> None:
        """Start an isolated worker if a run needs one and there is none. It ends by itself."""
        if self._watch is not None and not self._watch.done():
            return
        if self._is_stopping or not await recovery.find_abandoned_runs(
            self._db, (), 1, is_isolated=True
        ):
            return
        log.warning("isolated_worker_started", extra={"worker": self._name})
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", MODULE, self._name, str(os.getpid()),
            cwd=ROOT, stdin=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        self._watch = asyncio.create_task(self._fail_run_if_killed(self._process))

    def begin_stop(self) -> None:
        """Ask the isolated worker to end. It releases its runs."""
        if self._is_stopping:
            return
        self._is_stopping = True
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()

    async def stop(self) -> None:
        """End the isolated worker."""
        self.begin_stop()
        if self._process is not None and self._process.returncode is None:
            try:
                await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
            except TimeoutError:
                self._process.kill()
        if self._watch is not None:
            self._watch.cancel()

    async def _fail_run_if_killed(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        if code == 0 or self._is_stopping:
            return
        runs = await recovery.fail_runs_of_crashed(self._db, self._name)
        log.error("isolated_worker_died", extra={"code": code, "runs": [str(run) for run in runs]})
