"""Checks of the isolation layers: each looks at the thing itself, not at what was configured."""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import redis
from django.conf import settings
from django.db import DatabaseError, connections

from config import net
from config.checks import OWNED, ROLE
from config.env import env
from workflows.sandbox.escape_tests.corpus import ESCAPES, RESOURCES
from workflows.sandbox.escape_tests.runner import QUICK, list_successful_attacks
from workflows.sandbox.full_python import FullPython
from workflows.sandbox.monty import MontyRunner
from workflows.sandbox.pool import RunnerPool
from workflows.sandbox.process import Program, Runner, RunnerGone, RunnerLate, is_jailed


METADATA: Final = ("http://169.254.169.254/latest/", "http://[fd00:ec2::254]/latest/")
# The walls that every runner must have, whatever the host offers besides.
LEAST: Final = frozenset({"memory", "limits", "privileges", "syscalls"})
# The walls that a runner has where the host and its user allow them.
POSSIBLE: Final[Mapping[Program, frozenset[str]]] = {
    "child": LEAST | {"user"},
    "code_child": LEAST | {"user", "files"},
    "full_child": LEAST | {"user"},
}

TENANT_TABLES = """
    select c.relname, c.relrowsecurity and c.relforcerowsecurity
           and exists (select 1 from pg_policy where polrelid = c.oid)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and c.relkind in ('r', 'p')
      and exists (select 1 from pg_attribute
                  where attrelid = c.oid and attname = 'team_id' and not attisdropped)
    order by 1
"""


@dataclass(frozen=True)
class Wall:
    """The result of one check. Without a ``must`` layer, only one person should use this installation."""

    name: str
    holds: bool
    detail: str
    must: bool = True


def check_walls(*, thorough: bool = False) -> Iterator[Wall]:
    """Run all checks; ``thorough`` runs all the hostile programs, not only the quick ones."""
    for check in CHECKS:
        if thorough and check is run_quick_attacks:
            check = run_all_attacks
        try:
            yield from check()
        except DatabaseError as error:
            yield Wall("database", False, f"doesn't respond: {str(error).strip()}")


def check_database_role() -> Iterator[Wall]:
    with connections["default"].cursor() as cursor:
        cursor.execute(ROLE)
        above, role = cursor.fetchone() or (True, "?")
        cursor.execute(OWNED)
        (owned,) = cursor.fetchone() or (0,)
    yield Wall(
        "database role",
        not above,
        f"{role} {'bypasses' if above else 'is bound by'} row-level security",
    )
    yield Wall("table owner", not owned, f"{role} owns {owned or 'no'} tables")


def check_row_level_security() -> Iterator[Wall]:
    with connections["default"].cursor() as cursor:
        cursor.execute(TENANT_TABLES)
        tables = dict(cursor.fetchall())
    open_ = [name for name, closed in tables.items() if not closed]
    if not tables:
        detail = "no tables yet: run manage.py migrate"
    elif open_:
        detail = f"not forced on {', '.join(open_)}"
    else:
        detail = f"forced on all {len(tables)} tables of teams"
    yield Wall("row-level security", bool(tables) and not open_, detail)


def check_secrets() -> Iterator[Wall]:
    path = env().mnemoflow_home / "secrets.json"
    if env().secret_key and env().secret_keys_at_rest:
        yield Wall("keys", True, "set in the environment")
        return
    file_stat = path.stat()
    mode = stat.S_IMODE(file_stat.st_mode)
    ours = file_stat.st_uid == os.geteuid() and not mode & 0o077
    yield Wall(
        "keys",
        ours,
        f"{path} has mode {mode:o}{'' if ours else ', should be 600 and owned by this user'}",
    )


def check_egress() -> Iterator[Wall]:
    """Call a metadata address literally: no name is looked up, and nothing is sent when the guard works."""
    for address in METADATA:
        try:
            with net.sync_client(timeout=2) as client:
                client.get(address)
        except net.AddressRefused:
            yield Wall("egress guard", True, f"refuses {address}")
        except Exception as error:  # whatever else came back, something was tried
            yield Wall("egress guard", False, f"tried {address}: {type(error).__name__}")
        else:
            yield Wall("egress guard", False, f"allowed {address}")


def check_sandbox() -> Iterator[Wall]:
    yield from _check_runner("runner", "child")
    yield from _check_runner("code runner", "code_child")
    if is_jailed():
        yield from _check_runner("full Python", "full_child")
        detail = "runners start inside it: no network, no other processes, no files but Python's"
    else:
        detail = "not usable here; runners are plain processes, and full Python is not available"
    yield Wall("bubblewrap", is_jailed(), detail, must=False)


def _check_runner(name: str, program: Program) -> Iterator[Wall]:
    try:
        runner = Runner(program)
    except (RunnerGone, RunnerLate, OSError) as error:
        yield Wall(name, False, f"doesn't start: {type(error).__name__}")
        return
    standing = frozenset(runner.walls)
    runner.kill()
    missing = LEAST - standing
    detail = (
        f"lacks {', '.join(sorted(missing))}"
        if missing
        else f"protected by {', '.join(sorted(standing))}"
    )
    if unavailable := POSSIBLE[program] - standing - missing:
        detail = f"{detail}; without {', '.join(sorted(unavailable))}"
    yield Wall(name, not missing, detail)
    if program == "code_child":
        detail = (
            "only libraries can be read" if "files" in standing else "no Landlock in this kernel"
        )
        yield Wall("code files", "files" in standing, detail, must=False)


def run_quick_attacks(*, every: bool = False) -> Iterator[Wall]:
    """Run hostile programs: what was configured is one thing, what holds another."""
    yield from _run_attack("code attacks", MontyRunner(RunnerPool(1, program="code_child")), every)
    if every and is_jailed():  # a process a program: too slow for every look
        yield from _run_attack("full Python attacks", FullPython(), every)


def _run_attack(name: str, runner: MontyRunner, every: bool) -> Iterator[Wall]:
    try:
        through = asyncio.run(list_successful_attacks(runner, all_resources=every))
    except (RunnerGone, RunnerLate, OSError) as error:
        yield Wall(name, False, f"could not be run: {type(error).__name__}")
        return
    finally:
        runner.close()
    count = len(ESCAPES) + len(RESOURCES if every else QUICK)
    detail = f"{', '.join(through)} got through" if through else f"none of {count} got through"
    yield Wall(name, not through, detail)


def run_all_attacks() -> Iterator[Wall]:
    return run_quick_attacks(every=True)


def check_queue() -> Iterator[Wall]:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        yield Wall("valkey", False, f"unreachable, so answers don't stream: {error}", must=False)
    else:
        yield Wall("valkey", True, "responds", must=False)


def check_site() -> Iterator[Wall]:
    yield Wall("debug pages", not settings.DEBUG, "on" if settings.DEBUG else "off", must=False)


CHECKS: Final[tuple[Callable[[], Iterator[Wall]], ...]] = (
    check_database_role, check_row_level_security, check_secrets, check_egress, check_sandbox, run_quick_attacks, check_queue, check_site,
)  # fmt: skip
