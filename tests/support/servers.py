"""The session's own PostgreSQL and Valkey: started by whoever needs them first, shared by all workers, gone at the end."""

import fcntl
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
from django.core.management import call_command
from django.db import connections
from psycopg import sql

from config.embedded.layout import Layout, find_layout
from config.embedded.postgres import Postgres
from config.embedded.session import prepare_database
from config.embedded.valkey import Valkey


HOME = Path(os.environ["MNEMOFLOW_TEST_HOME"])
TEMPLATE = "migrated"
APPLICATION_NAME = "tests"
# The folder of the programs of another PostgreSQL: `make test-oldest` names that of the oldest version that we support.
OTHER_PROGRAMS = Path(os.environ["TEST_POSTGRES"]) if "TEST_POSTGRES" in os.environ else None
# A crash of the machine may lose everything, which then matters to nobody.
CARELESS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def place() -> Layout:
    return find_layout(HOME)


def postgres() -> Postgres:
    at = place()
    server = Postgres(
        at.pg_data,
        at.sockets,
        at.logs / "postgres.log",
        settings={**CARELESS, "max_connections": "400"},
    )
    if OTHER_PROGRAMS is not None:
        # The builtin locale provider is from version 17.
        return replace(server, programs=OTHER_PROGRAMS, locale_arguments=("--locale=C.UTF-8",))
    return server


def valkey() -> Valkey:
    at = place()
    return Valkey(at.valkey_data, at.valkey_socket, at.logs / "valkey.log")


def start_postgres() -> Postgres:
    """Running, with one migrated database to clone."""
    server = postgres()
    with _one_at_a_time():
        server.start()
        if not (HOME / TEMPLATE).exists():
            prepare_database(server, TEMPLATE)
            use_database(TEMPLATE)
            gc.disable()  # the first test waits for this, and the memory for the garbage is there
            call_command("migrate", database="owner", verbosity=0, interactive=False)
            gc.enable()
            connections.close_all()
            (HOME / TEMPLATE).touch()
    return server


def start_valkey() -> Valkey:
    server = valkey()
    with _one_at_a_time():
        server.start()
    return server


def clone_database(name: str, template: str = TEMPLATE) -> None:
    with _one_at_a_time(), psycopg.connect(postgres().build_url(), autocommit=True) as connection:
        names = {"name": sql.Identifier(name), "template": sql.Identifier(template)}
        connection.execute(sql.SQL("drop database if exists {name} with (force)").format(**names))
        connection.execute(sql.SQL("create database {name} template {template}").format(**names))


def use_database(name: str) -> None:
    """Point this process's connections at it; the roles stay as in production."""
    for alias in ("default", "owner"):
        connections[alias].close()
        connections[alias].close_pool()  # it would go on handing out connections to the other
        connections[alias].settings_dict["NAME"] = name
        # A test that ends the sessions of the product's processes leaves those of its own.
        connections[alias].settings_dict["OPTIONS"]["application_name"] = APPLICATION_NAME


def stop_servers() -> None:
    _stop(HOME)
    for left_over in Path("/tmp").glob("mnemoflow-test-*"):
        pid = left_over.name.rpartition("-")[2]
        is_left = pid.isdecimal() and not psutil.pid_exists(int(pid))  # a session that was killed
        with suppress(FileNotFoundError):  # another session was faster
            if is_left and left_over.stat().st_uid == os.geteuid():
                _stop(left_over)


def _stop(home: Path) -> None:
    at = find_layout(home)
    Valkey(at.valkey_data, at.valkey_socket, at.logs / "valkey.log").stop()
    Postgres(at.pg_data, at.sockets, at.logs / "postgres.log").stop()
    # Nobody waits for it: the databases of a run have so many files that it takes seconds.
    os.posix_spawnp("rm", ["rm", "-rf", "--", str(home)], os.environ)


def make_home() -> None:
    if not HOME.exists():
        HOME.mkdir(exist_ok=True)
        HOME.chmod(0o755)  # root's umask may be one that keeps PostgreSQL's user out


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    make_home()
    with (HOME / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
