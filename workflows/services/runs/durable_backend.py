"""A backend of the engine that executes runs as the server does: through the database and a Celery worker."""

import asyncio
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Any, BinaryIO
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management import call_command
from django.db import ProgrammingError, connections
from redis import Redis
from redis.exceptions import RedisError

from accounts.tenancy import tenant
from config.embedded.programs import build_worker as worker_program
from config.env import ROOT, env
from workflows.engine.errors import EngineFault
from workflows.engine.runtime import events as all_events
from workflows.engine.runtime.events import Event, InputRequired, RunPaused, TextChunk
from workflows.engine.runtime.waits import Answer
from workflows.engine.testing.backends import Outcome, Request, Watcher
from workflows.errors import WaitClosed
from workflows.execution.events.bus import get_bus_url, get_cancel_channel
from workflows.execution.events.hub import Hub
from workflows.execution.events.reader import follow
from workflows.execution.events.run_feed import RunFeed
from workflows.execution.events.stream_events import StreamEvent
from workflows.execution.journal.codec import parse_step_record
from workflows.models import Run, RunPartial, Step
from workflows.services.runs.shell import Operator, get_or_create_operator, queue_request
from workflows.services.runs.waits import answer_as_operator


START_TIMEOUT = 60.0  # seconds until a worker must be ready
_EVENTS: Mapping[str, type[Event]] = {
    kind.name: kind
    for kind in vars(all_events).values()
    if isinstance(kind, type) and issubclass(kind, Event)
}


class WorkerMissing(EngineFault):
    """No worker started in time to run the workflow."""


class DurableBackend:
    """Implements ``engine.testing.backends.Backend``. It starts a worker as a child process unless one is running."""

    def __init__(self) -> None:
        self._feed: RunFeed | None = None
        self._operator: Operator | None = None
        self._worker: ChildWorker | None = None
        self._preparing = (
            asyncio.Lock()
        )  # runs that begin at the same time share what the first one makes

    async def run(self, request: Request, watch: Watcher | None = None) -> Outcome:
        feed, operator = await self._prepare()
        run = await sync_to_async(queue_request)(operator, request)
        async for message in follow(feed, operator.team_id, run.pk, 0, idle_seconds=30):
            if message is None:
                continue
            if watch is not None:
                watch(_parse_event(message))
            if message.name == InputRequired.name and request.answer is not None:
                answer = await request.answer(message.data["node"], message.data["form"])
                await sync_to_async(_store_answer)(operator, run, message.data["wait"], answer)
            elif _waits_for_a_person(message) and request.answer is None:
                break
        return await sync_to_async(_build_outcome)(run)

    async def close(self) -> None:
        if self._feed is not None:
            await self._feed.hub.close()
        if self._worker is not None:
            await asyncio.to_thread(self._worker.stop)

    async def _prepare(self) -> tuple[RunFeed, Operator]:
        async with self._preparing:
            if self._feed is None or self._operator is None:
                self._feed = Hub(get_bus_url()).get_feed(RunFeed)
                self._operator = await sync_to_async(_load_operator)()
                if not await asyncio.to_thread(is_worker_running):
                    self._worker = ChildWorker()
                    await asyncio.to_thread(self._worker.start)
            return self._feed, self._operator


def _load_operator() -> Operator:
    """Return the operator. Migrate the embedded database first if it has no tables, as on a fresh checkout."""
    try:
        return get_or_create_operator()
    except ProgrammingError:
        if not env().embedded_database:
            raise
    call_command("migrate", verbosity=0, interactive=False)
    return get_or_create_operator()


def is_worker_running() -> bool:
    """Return whether a worker is running. Each worker listens to the cancel channel, which is the quickest to check."""
    url = get_bus_url()
    if url is None:
        return False
    redis = Redis.from_url(url, decode_responses=True)
    try:
        return any(count for _name, count in redis.pubsub_numsub(get_cancel_channel()))
    except (RedisError, OSError):
        return False
    finally:
        redis.close()


class ChildWorker:
    """A Celery worker in a child process, which uses this process's database and ends with the command."""

    def __init__(self, threads: int = 8, environment: Mapping[str, str] | None = None) -> None:
        self._threads, self._environment = threads, environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._log: BinaryIO = TemporaryFile()  # noqa: SIM115 - closed by stop

    def start(self) -> None:
        program = worker_program(env().model_copy(update={"worker_threads": self._threads}))
        self._process = subprocess.Popen(
            program.command,
            cwd=ROOT,
            env={**program.build_environment(), **_build_environment(), **self._environment},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,  # the command handles Ctrl-C and stops the worker in order
        )
        deadline = time.monotonic() + START_TIMEOUT
        # Without a bus the worker is not visible; the first run waits for it instead.
        while get_bus_url() is not None and not is_worker_running():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise WorkerMissing(f"No worker started: {self._read_log_end()}")
            time.sleep(0.05)

    def send_signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._wait_until_released(self._process)
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _wait_until_released(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait until the worker has released its runs and so left the cancel channel, since Celery takes longer to end."""
        deadline = time.monotonic() + 15
        while process.poll() is None and time.monotonic() < deadline:
            if get_bus_url() is not None and not is_worker_running():
                return
            time.sleep(0.01)

    def _read_log_end(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-2000:]


def _build_environment() -> dict[str, str]:
    """Return an environment with this process's database and queue, which override the inherited values."""
    database = connections["default"].settings_dict
    port = f"&port={database['PORT']}" if database["PORT"] else ""
    login = (
        f"{database['USER']}:{database['PASSWORD']}" if database["PASSWORD"] else database["USER"]
    )
    return {
        "DATABASE_URL": f"postgresql://{login}@/{database['NAME']}?host={database['HOST']}{port}",
        "BROKER_URL": settings.BROKER_URL,
        "REDIS_URL": settings.REDIS_URL,
        # This process has run the checks, which take half of the worker's start time.
        "CELERY_SKIP_CHECKS": "1",
    }


def _parse_event(message: StreamEvent) -> Event:
    if message.name == TextChunk.name:
        data: Any = message.data
        return TextChunk(data["node"], data["text"], data["source"])
    return _EVENTS[message.name](**message.data)


def _waits_for_a_person(message: StreamEvent) -> bool:
    return message.name == RunPaused.name and message.data["reason"] == "input"


def _store_answer(operator: Operator, run: Run, wait_id: str, answer: Answer) -> None:
    with tenant([run.team_id]), suppress(WaitClosed):  # it may have been too late
        answer_as_operator(
            operator.principal,
            run,
            wait_id=UUID(wait_id),
            values=answer.values,
            action=answer.action,
        )


def _build_outcome(run: Run) -> Outcome:
    with tenant([run.team_id]):
        ended = Run.objects.unscoped().select_related("conversation").get(pk=run.pk)
        rows = Step.objects.unscoped().filter(run=run).order_by("id").values()
        partial = RunPartial.objects.unscoped().filter(run=run).first()
        steps = [parse_step_record(row) for row in rows]
    conversation = ended.conversation
    # Each piece contains the consecutive tokens of one source.
    pieces = [segment[5] for segment in partial.segments] if partial else []
    return Outcome(
        status=ended.status,
        outputs=ended.outputs or {},
        error=ended.error or None,
        error_node=ended.error_node or None,
        stream="".join(pieces),
        chunks=pieces,
        steps=steps,
        conversation=conversation.variables if conversation else {},
        exceptions_count=ended.exceptions_count,
        elapsed=ended.elapsed or 0.0,
    )
