"""The programs that `manage.py up` keeps running."""

import sys

from config.embedded.supervisor import Program
from config.env import Env


def build_web(settings: Env, port: int, listener_fd: int | None = None) -> Program:
    """Describe the web server, which uses the listening socket if it is given one, and opens the port otherwise."""
    address = ["--host", settings.host, "--port", str(port)]
    if listener_fd is not None:
        address = ["--fd", str(listener_fd)]
    return Program(
        name="web",
        command_marker="config.asgi:application",
        stop_timeout=5,
        inherited_fds=() if listener_fd is None else (listener_fd,),
        environment={
            "DATABASE_POOL_SIZE": str(settings.database_pool_size or 20),
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
