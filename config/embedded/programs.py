"""The programs that `manage.py up` keeps running."""

import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import psutil

from config.embedded.supervisor import Program
from config.env import Env


POOL_SIZE: Final = 20  # database connections of all web processes together
MIN_POOL_SIZE: Final = 8  # of each: for the pages that work at the same time, and for event streams
# A web process itself needs less, but so do the worker and the database that work for it.
MEMORY_PER_WEB_PROCESS: Final = 2 * 1024**3
MAX_WEB_PROCESSES: Final = (
    4  # unless WEB_PROCESSES asks for more; other cores are left to the worker and the database
)
CONTROL_GROUP: Final = Path("/sys/fs/cgroup")  # says what a container may use of the machine


def choose_web_process_count(settings: Env, *, has_shared_cache: bool) -> int:
    """Return how many web processes to start: WEB_PROCESSES, or as many as the machine has room for.

    Without a shared cache each would count limits, and show the people in an editor, by itself: then it is one.
    """
    if not has_shared_cache:
        return 1
    room = min(count_cores(), read_memory() // MEMORY_PER_WEB_PROCESS, MAX_WEB_PROCESSES)
    return settings.web_processes or max(room, 1)


def build_web_processes(
    settings: Env, port: int, listener_fd: int, *, count: int, metrics: Path
) -> list[Program]:
    """Describe the web processes, which accept connections from the same listening socket.

    The kernel gives a connection to whichever accepts it first, so that a busy process, or one that is being started
    again, leaves it to the others. They add their metrics up in the folder ``metrics``, which has to be empty.
    """
    web = build_web(settings, port, listener_fd)
    if count == 1:
        return [replace(web, environment={**web.environment, "WEB_PROCESSES": "1"})]
    shared = {"WEB_PROCESSES": str(count), "PROMETHEUS_MULTIPROC_DIR": str(metrics)}
    if "database_pool_size" not in settings.model_fields_set:
        shared["DATABASE_POOL_SIZE"] = str(max(POOL_SIZE // count, MIN_POOL_SIZE))
    first = replace(web, environment={**web.environment, **shared})
    names = [f"{web.name}-{number}" for number in range(2, count + 1)]
    return [first, *(replace(first, name=name, is_spare=True) for name in names)]


def build_web(settings: Env, port: int, listener_fd: int | None = None) -> Program:
    """Describe a web process, which uses the listening socket if it is given one, and opens the port otherwise."""
    address = ["--host", settings.host, "--port", str(port)]
    if listener_fd is not None:
        address = ["--fd", str(listener_fd)]
    return Program(
        name="web",
        command_marker="config.asgi:application",
        stop_timeout=5,
        inherited_fds=() if listener_fd is None else (listener_fd,),
        environment={
            "DATABASE_POOL_SIZE": str(settings.database_pool_size or POOL_SIZE),
            **_pass_local_choices(settings),
        },
        command=[
            sys.executable, "-m", "uvicorn", "config.asgi:application",
            *address,
            # Otherwise open event streams would keep the server from stopping.
            "--timeout-graceful-shutdown", "2",
            "--lifespan", "off", "--no-access-log", "--no-server-header", "--log-level", "warning",
            "--no-proxy-headers",  # config.http.proxies reads them, by TRUSTED_PROXIES
        ],
    )  # fmt: skip


def build_worker(settings: Env) -> Program:
    return Program(
        name="worker",
        command_marker="config.celery",
        stop_timeout=40,  # it may wait for a call that must not be repeated
        environment={
            "DATABASE_POOL_SIZE": str(settings.database_pool_size or settings.worker_threads + 16),
            # The worker's own number of slots. Celery's threads only pass messages on and run test cases.
            "WORKER_THREADS": str(settings.worker_threads),
            # Celery warns root because pickle is unsafe, but this worker accepts JSON only.
            "PYTHONWARNINGS": "ignore:You're running the worker",
            **_pass_local_choices(settings),
        },
        command=[
            sys.executable, "-m", "celery", "--quiet", "-A", "config.celery", "worker",
            "--pool", "threads", "--concurrency", str(settings.worker_threads),
            "--queues", "mnemoflow,upkeep",
            # Workers don't need to know of each other.
            "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", settings.log_level,
        ],
    )  # fmt: skip


def build_beat(settings: Env) -> Program:
    schedule = settings.mnemoflow_home / "celerybeat-schedule"
    return Program(
        name="beat",
        command_marker="config.celery",
        stop_timeout=3,
        command=[
            sys.executable, "-m", "celery", "--quiet", "-A", "config.celery", "beat",
            "--schedule", str(schedule), "--pidfile", "", "--loglevel", "WARNING",
        ],
    )  # fmt: skip


def _pass_local_choices(settings: Env) -> dict[str, str]:
    """Return the decisions of ``manage.py up`` as environment variables."""
    choices = {"LOCAL_MODELS": settings.local_models, "LOCAL_MCP": settings.local_mcp}
    return {name: str(int(choice)) for name, choice in choices.items() if choice is not None}


def count_cores(group: Path = CONTROL_GROUP) -> int:
    """Return how many cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # there is no group, or it has no limit
        quota, period = (group / "cpu.max").read_text().split()
        return max(min(cores, int(quota) // int(period)), 1)
    return cores


def read_memory(group: Path = CONTROL_GROUP) -> int:
    """Return how many bytes of memory this process and its children may use."""
    memory: int = psutil.virtual_memory().total
    with suppress(OSError, ValueError):
        return min(memory, int((group / "memory.max").read_text()))
    return memory
