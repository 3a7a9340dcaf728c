"""Checks of what an installation needs to work: database, keys, workers, broker, plug-ins and disks.

None of them is an isolation layer. A check that fails with ``required`` keeps people from using the site.
"""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from django.utils.timesince import timesince
from kombu import Connection
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

from accounts.models import Team
from config.embedded.layout import find_layout
from config.env import env
from config.management.commands.backup import describe_files
from config.management.results import CheckResult
from config.plugins import get_plugin_manager
from config.postgres.missing_tables import is_table_missing
from workflows.files import contents
from workflows.models import Worker
from workflows.services.credentials import count_secrets


OLDEST_POSTGRES, NEWEST_POSTGRES = 15, 18  # the major versions that are tested
WORKER_IS_GONE_AFTER: Final = timedelta(seconds=15)
BROKER_SECONDS: Final = 2
QUEUES: Final = ("mnemoflow", "upkeep")
MIN_FREE_BYTES: Final = 2 * 1024**3
MIN_FREE_SHARE: Final = 0.05


def run_operation_checks() -> Iterator[CheckResult]:
    """Run all checks and yield their results."""
    checks = (
        check_database_version, check_migrations, check_stored_secrets, check_workers, check_broker, check_memory_server,
        check_plugins, check_disks, check_file_store,
    )  # fmt: skip
    for check in checks:
        try:
            yield from check()
        except DatabaseError as error:
            name = check.__name__.removeprefix("check_").replace("_", " ")
            yield CheckResult(name, False, _describe_database_error(error))


def _describe_database_error(error: DatabaseError) -> str:
    if is_table_missing(error):
        return "no tables yet: run manage.py migrate"
    return f"the database doesn't answer: {str(error).strip().splitlines()[0]}"


def check_file_store() -> Iterator[CheckResult]:
    """Check that a file can be stored, read and deleted. Web servers and workers need the same store."""
    path = f"doctor/{token_hex(8)}"
    try:
        contents.write(path, b"probe")
        is_read = contents.read(path) == b"probe"
        contents.delete(path)
    except Exception as error:  # whatever a store raises
        yield CheckResult("file store", False, f"{describe_files()}: {type(error).__name__}")
        return
    yield CheckResult("file store", is_read, describe_files())


def check_database_version() -> Iterator[CheckResult]:
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "select current_setting('server_version'), pg_database_size(current_database())"
        )
        version, size = cursor.fetchone() or ("0", 0)
    major = int(version.split(".")[0].split("devel")[0].split("beta")[0])
    is_tested = OLDEST_POSTGRES <= major <= NEWEST_POSTGRES
    advice = "" if is_tested else f"; tested are {OLDEST_POSTGRES} to {NEWEST_POSTGRES}"
    detail = f"{version.split(' ')[0]}, database of {_format_bytes(size)}{advice}"
    yield CheckResult("postgresql", is_tested, detail, required=major < OLDEST_POSTGRES)


def check_migrations() -> Iterator[CheckResult]:
    executor = MigrationExecutor(connections["default"])
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    detail = f"{len(missing)} to run: manage.py migrate" if missing else "all have been run"
    yield CheckResult("migrations", not missing, detail)


def check_stored_secrets() -> Iterator[CheckResult]:
    """Decrypt every stored secret, because a wrong key is noticed otherwise by the run that needs one."""
    count = count_secrets(Team.objects.values_list("pk", flat=True))
    readable = count.total - count.unreadable
    detail = f"{readable} of {count.total} can be decrypted"
    if count.unreadable:
        detail = f"{detail}: SECRET_KEYS_AT_REST lacks the key of the others"
    yield CheckResult("stored secrets", not count.unreadable, detail)


def check_workers() -> Iterator[CheckResult]:
    workers = list(Worker.objects.filter(seen_at__gte=timezone.now() - WORKER_IS_GONE_AFTER))
    texts = [f"{row.name} ({row.running} of {row.capacity} runs)" for row in workers]
    detail = ", ".join(texts) or "none has reported for 15 seconds, so runs wait"
    yield CheckResult("workers", bool(workers), detail, required=False)


def check_broker() -> Iterator[CheckResult]:
    """Connect as Celery does, and say which server it is, for how long it has run, and how much waits in it."""
    try:
        with Connection(settings.BROKER_URL, connect_timeout=BROKER_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, timeout=BROKER_SECONDS)
            detail = _describe_broker(connection)
    except (OperationalError, RedisError, OSError) as error:
        detail = f"unreachable, so workers look into the database every second: {error}"
        yield CheckResult("broker", False, detail, required=False)
    else:
        yield CheckResult("broker", True, detail, required=False)


def _describe_broker(connection: Connection) -> str:
    channel = connection.default_channel
    if client := getattr(channel, "client", None):  # Redis or Valkey
        info = client.info("server")
        name, version = (
            ("Valkey", info["valkey_version"])
            if "valkey_version" in info
            else ("Redis", info["redis_version"])
        )
        started_at = timezone.now() - timedelta(seconds=info["uptime_in_seconds"])
        age = f", up for {timesince(started_at)}"
    else:
        properties = connection.connection.server_properties
        name, version, age = properties["product"], properties["version"], ""
    waiting = {queue: _count_messages(connection, queue) for queue in QUEUES}
    counts = ", ".join(f"{count} in {queue}" for queue, count in waiting.items())
    return f"{name} {version}{age}; messages: {counts}".replace("\xa0", " ")


def _count_messages(connection: Connection, queue: str) -> int:
    """Return the number of messages, 0 for a queue that no worker has declared yet."""
    channel: Any = connection.channel()  # the method belongs to the transport's own class
    with suppress(*connection.channel_errors), channel:
        return int(channel.queue_declare(queue, passive=True).message_count)
    return 0


def check_memory_server() -> Iterator[CheckResult]:
    """Connect to the Redis of MEMORY_PLACES, for which steps of runs wait while it is away."""
    if not any(rule.partition("=")[2].strip() == "redis" for rule in settings.MEMORY_PLACES):
        return
    url = settings.MEMORY_REDIS_URL or settings.REDIS_URL
    try:
        with Redis.from_url(url, socket_timeout=BROKER_SECONDS) as client:
            client.ping()
    except (RedisError, OSError) as error:
        detail = f"unreachable, so runs that use it wait: {error}"
        yield CheckResult("memory in redis", False, detail, required=False)
    else:
        yield CheckResult("memory in redis", True, "responds", required=False)


def check_plugins() -> Iterator[CheckResult]:
    plugins = get_plugin_manager()
    for name, package in plugins.packages.items():
        reason = plugins.left_out.get(name)
        detail = f"{package}: left out, {reason}" if reason else package
        yield CheckResult(f"plug-in {name}", reason is None, detail, required=False)
    if not plugins.packages:
        yield CheckResult("plug-ins", True, "none installed", required=False)


def check_disks() -> Iterator[CheckResult]:
    layout = find_layout(env().mnemoflow_home)
    folders = {"disk of data": layout.pg_data if env().embedded_database else layout.home}
    folders["disk of audit heads"] = Path(settings.AUDIT_HEADS_FILE).parent
    for name, folder in folders.items():
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        usage = shutil.disk_usage(existing)
        has_space = usage.free > max(MIN_FREE_BYTES, MIN_FREE_SHARE * usage.total)
        detail = f"{_format_bytes(usage.free)} of {_format_bytes(usage.total)} free at {existing}"
        yield CheckResult(name, has_space, detail, required=False)


def _format_bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
