"""Checks of the isolation layers. Each check tests the layer itself instead of its configuration."""

import asyncio
import os
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

import redis
from django.conf import settings
from django.db import DatabaseError, connections

from config import net
from config.checks import read_app_role
from config.env import env
from config.management.results import CheckResult
from workflows.sandbox.escape_tests.runner import (
    JAVASCRIPT,
    PYTHON,
    QUICK,
    Corpus,
    list_successful_attacks,
)
from workflows.sandbox.full_python import FullPython
from workflows.sandbox.javascript import runner as javascript
from workflows.sandbox.monty import MontyRunner
from workflows.sandbox.pool import RunnerPool
from workflows.sandbox.process import Program, Runner, RunnerGone, RunnerLate, is_jailed


METADATA_URLS: Final = ("http://169.254.169.254/latest/", "http://[fd00:ec2::254]/latest/")
# The restrictions that every runner must have on every host.
REQUIRED_RESTRICTIONS: Final = frozenset({"memory", "limits", "privileges", "syscalls"})
# The restrictions that a runner has where the host and its user support them.
EXPECTED_RESTRICTIONS: Final[Mapping[Program, frozenset[str]]] = {
    "child": REQUIRED_RESTRICTIONS | {"user"},
    "code_child": REQUIRED_RESTRICTIONS | {"user", "files"},
    "full_child": REQUIRED_RESTRICTIONS | {"user"},
    "javascript.child": REQUIRED_RESTRICTIONS | {"user"},
}

TENANT_TABLES_QUERY = """
    select c.relname, c.relrowsecurity and c.relforcerowsecurity
           and exists (select 1 from pg_policy where polrelid = c.oid)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relkind in ('r', 'p')
      and exists (select 1 from pg_attribute
                  where attrelid = c.oid and attname = 'team_id' and not attisdropped)
    order by 1
"""


def run_isolation_checks(*, thorough: bool = False) -> Iterator[CheckResult]:
    """Run all checks and yield their results. With ``thorough``, also run the slow hostile programs."""
    checks = (
        check_database_role, check_row_level_security, check_secrets, check_egress, check_sandbox,
        partial(run_attacks, thorough=thorough), check_valkey, check_debug_mode,
    )  # fmt: skip
    for check in checks:
        try:
            yield from check()
        except DatabaseError as error:
            yield CheckResult("database", False, f"doesn't respond: {str(error).strip()}")


def check_database_role() -> Iterator[CheckResult]:
    role, bypasses_rls, table_count = read_app_role()
    detail = f"{role} {'bypasses' if bypasses_rls else 'is bound by'} row-level security"
    yield CheckResult("database role", not bypasses_rls, detail)
    yield CheckResult("table owner", not table_count, f"{role} owns {table_count or 'no'} tables")


def check_row_level_security() -> Iterator[CheckResult]:
    with connections["default"].cursor() as cursor:
        cursor.execute(TENANT_TABLES_QUERY)
        tables = dict(cursor.fetchall())
    unprotected = [name for name, is_protected in tables.items() if not is_protected]
    if not tables:
        detail = "no tables yet: run manage.py migrate"
    elif unprotected:
        detail = f"not forced on {', '.join(unprotected)}"
    else:
        detail = f"forced on all {len(tables)} tables of teams"
    yield CheckResult("row-level security", bool(tables) and not unprotected, detail)


def check_secrets() -> Iterator[CheckResult]:
    path = env().mnemoflow_home / "secrets.json"
    if env().secret_key and env().secret_keys_at_rest:
        yield CheckResult("keys", True, "set in the environment")
        return
    file_stat = path.stat()
    mode = stat.S_IMODE(file_stat.st_mode)
    is_private = file_stat.st_uid == os.geteuid() and not mode & 0o077
    advice = "" if is_private else ", should be 600 and owned by this user"
    yield CheckResult("keys", is_private, f"{path} has mode {mode:o}{advice}")


def check_egress() -> Iterator[CheckResult]:
    """Call the cloud metadata addresses. If the guard works, nothing is sent, not even a DNS query."""
    for address in METADATA_URLS:
        try:
            with net.build_sync_client(timeout=2) as client:
                client.get(address)
        except net.AddressRefused:
            yield CheckResult("egress guard", True, f"refuses {address}")
        except Exception as error:  # any other error means that a connection was tried
            yield CheckResult("egress guard", False, f"tried {address}: {type(error).__name__}")
        else:
            yield CheckResult("egress guard", False, f"allowed {address}")


def check_sandbox() -> Iterator[CheckResult]:
    yield from _check_runner("runner", "child")
    yield from _check_runner("code runner", "code_child")
    if javascript.is_available():
        yield from _check_runner("JavaScript", "javascript.child")
    if is_jailed():
        yield from _check_runner("full Python", "full_child")
        detail = "runners start inside it: no network, no other processes, no files but Python's"
    else:
        detail = "not usable here; runners are plain processes, and full Python is not available"
    yield CheckResult("bubblewrap", is_jailed(), detail, required=False)


def _check_runner(name: str, program: Program) -> Iterator[CheckResult]:
    try:
        runner = Runner(program)
    except (RunnerGone, RunnerLate, OSError) as error:
        yield CheckResult(name, False, f"doesn't start: {type(error).__name__}")
        return
    active = frozenset(runner.restrictions)
    runner.kill()
    missing = REQUIRED_RESTRICTIONS - active
    detail = f"lacks {_join(missing)}" if missing else f"protected by {_join(active)}"
    if unavailable := EXPECTED_RESTRICTIONS[program] - active - missing:
        detail = f"{detail}; without {_join(unavailable)}"
    yield CheckResult(name, not missing, detail)
    if program == "code_child":
        detail = "only libraries can be read" if "files" in active else "no Landlock in this kernel"
        yield CheckResult("code files", "files" in active, detail, required=False)


def _join(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def run_attacks(*, thorough: bool) -> Iterator[CheckResult]:
    """Run hostile programs in the sandboxes, to test that the restrictions work and not only that they are set."""
    monty = MontyRunner(RunnerPool(1, program="code_child"))
    yield from _run_attacks("code attacks", monty, thorough)
    if javascript.is_available():
        yield from _run_attacks("JavaScript attacks", javascript.JavaScript(), thorough, JAVASCRIPT)
    if thorough and is_jailed():  # each attack starts a process: too slow for the quick check
        yield from _run_attacks("full Python attacks", FullPython(), thorough)


def _run_attacks(
    name: str, runner: MontyRunner, thorough: bool, attacks: Corpus = PYTHON
) -> Iterator[CheckResult]:
    try:
        successful = asyncio.run(
            list_successful_attacks(runner, all_resources=thorough, attacks_of=attacks)
        )
    except (RunnerGone, RunnerLate, OSError) as error:
        yield CheckResult(name, False, f"could not be run: {type(error).__name__}")
        return
    finally:
        runner.close()
    count = len(attacks.escapes) + len(attacks.resources if thorough else QUICK)
    successes = ", ".join(successful) or f"none of {count}"
    yield CheckResult(name, not successful, f"{successes} got through")


def check_valkey() -> Iterator[CheckResult]:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        detail = f"unreachable, so answers don't stream: {error}"
        yield CheckResult("valkey", False, detail, required=False)
    else:
        yield CheckResult("valkey", True, "responds", required=False)


def check_debug_mode() -> Iterator[CheckResult]:
    detail = "on" if settings.DEBUG else "off"
    yield CheckResult("debug pages", not settings.DEBUG, detail, required=False)
