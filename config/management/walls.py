"""Which walls hold on this machine: each check looks at the thing itself, not at what was configured."""

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import redis
from django.conf import settings
from django.db import DatabaseError, connections

from config import net
from config.checks import OWNED, ROLE
from config.env import env
from workflows.sandbox.attacks import QUICK, got_through
from workflows.sandbox.corpus import ESCAPES, RESOURCES
from workflows.sandbox.monty import MontyRunner
from workflows.sandbox.pool import RunnerPool
from workflows.sandbox.process import Program, Runner, RunnerGone, RunnerLate, command


METADATA: Final = ("http://169.254.169.254/latest/", "http://[fd00:ec2::254]/latest/")
# What a runner must stand behind, whatever the host offers besides.
LEAST: Final = frozenset({"memory", "limits", "privileges", "syscalls"})

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
    """``must``: without it this installation should not be used by more than one person."""

    name: str
    holds: bool
    said: str
    must: bool = True


def walls(*, thorough: bool = False) -> Iterator[Wall]:
    """``thorough``: with all the hostile programs there are, not only the quick ones."""
    for check in CHECKS:
        if thorough and check is attacks:
            check = every_attack
        try:
            yield from check()
        except DatabaseError as error:
            yield Wall("database", False, f"doesn't answer: {str(error).strip()}")


def database_role() -> Iterator[Wall]:
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


def row_level_security() -> Iterator[Wall]:
    with connections["default"].cursor() as cursor:
        cursor.execute(TENANT_TABLES)
        tables = dict(cursor.fetchall())
    open_ = [name for name, closed in tables.items() if not closed]
    if not tables:
        said = "no tables yet: run manage.py migrate"
    elif open_:
        said = f"not forced on {', '.join(open_)}"
    else:
        said = f"forced on all {len(tables)} tables of teams"
    yield Wall("row-level security", bool(tables) and not open_, said)


def secrets() -> Iterator[Wall]:
    path = env().mnemoflow_home / "secrets.json"
    if env().secret_key and env().secret_keys_at_rest:
        yield Wall("keys", True, "come from the environment")
        return
    found = path.stat()
    mode = stat.S_IMODE(found.st_mode)
    ours = found.st_uid == os.geteuid() and not mode & 0o077
    yield Wall(
        "keys", ours, f"{path} has mode {mode:o}{'' if ours else ', should be 600 and yours'}"
    )


def egress() -> Iterator[Wall]:
    """A literal address: no name is looked up, and nothing is sent when the guard does its work."""
    for address in METADATA:
        try:
            with net.sync_client(timeout=2) as client:
                client.get(address)
        except net.AddressRefused:
            yield Wall("egress guard", True, f"refuses {address}")
        except Exception as error:  # whatever else came back, something was tried
            yield Wall("egress guard", False, f"tried {address}: {type(error).__name__}")
        else:
            yield Wall("egress guard", False, f"let {address} through")


def sandbox() -> Iterator[Wall]:
    yield from _runner("runner", "child")
    yield from _runner("code runner", "code_child")
    jailed = command()[0] != sys.executable
    said = "runners start inside it" if jailed else "not usable here; runners are plain processes"
    yield Wall("bubblewrap", jailed, said, must=False)


def _runner(name: str, program: Program) -> Iterator[Wall]:
    try:
        runner = Runner(program)
    except (RunnerGone, RunnerLate, OSError) as error:
        yield Wall(name, False, f"doesn't start: {type(error).__name__}")
        return
    standing = frozenset(runner.walls)
    runner.kill()
    missing = LEAST - standing
    said = (
        f"lacks {', '.join(sorted(missing))}"
        if missing
        else f"stands behind {', '.join(sorted(standing))}"
    )
    yield Wall(name, not missing, said)
    if program == "code_child":
        said = "only libraries can be read" if "files" in standing else "no Landlock in this kernel"
        yield Wall("code files", "files" in standing, said, must=False)


def attacks(*, every: bool = False) -> Iterator[Wall]:
    """Hostile programs, really run: what was configured is one thing, what holds another."""
    runner = MontyRunner(RunnerPool(1, program="code_child"))
    try:
        through = asyncio.run(got_through(runner, every=every))
    except (RunnerGone, RunnerLate, OSError) as error:
        yield Wall("code attacks", False, f"couldn't be tried: {type(error).__name__}")
        return
    finally:
        runner.close()
    count = len(ESCAPES) + len(RESOURCES if every else QUICK)
    said = f"{', '.join(through)} got through" if through else f"none of {count} got through"
    yield Wall("code attacks", not through, said)


def every_attack() -> Iterator[Wall]:
    return attacks(every=True)


def queue() -> Iterator[Wall]:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as client:
            client.ping()
    except (redis.RedisError, OSError) as error:
        yield Wall("valkey", False, f"unreachable, so words don't stream: {error}", must=False)
    else:
        yield Wall("valkey", True, "answers", must=False)


def site() -> Iterator[Wall]:
    yield Wall("debug pages", not settings.DEBUG, "on" if settings.DEBUG else "off", must=False)


CHECKS: Final[tuple[Callable[[], Iterator[Wall]], ...]] = (
    database_role, row_level_security, secrets, egress, sandbox, attacks, queue, site,
)  # fmt: skip
