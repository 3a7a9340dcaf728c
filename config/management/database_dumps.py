"""Dumps the database to a file and restores it, with PostgreSQL's own pg_dump and pg_restore.

Row-level security is forced on the tables of teams, also for their owner. pg_dump refuses to dump such tables unless its
role bypasses row-level security, so that no dump silently lacks rows.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from config.embedded.errors import EmbeddedFault
from config.embedded.osuser import OsUser
from config.embedded.postgres import find_binaries
from config.embedded.roles import (
    APP_ROLE,
    ROLE_EXISTS,
    grant_default_privileges,
    revoke_default_privileges,
)


DEBIAN_FOLDER: Final = Path("/usr/lib/postgresql")
BACKUP_ROLE_SQL: Final = "create role mnemoflow_backup login bypassrls password '…'; grant pg_read_all_data to mnemoflow_backup;"
BYPASSES_RLS = "select rolsuper or rolbypassrls from pg_roles where rolname = current_user"
COUNT_TABLES = "select count(*) from pg_tables where schemaname = 'public'"
# A policy for the owner names it, so after a restore it must name the new owner.
FIND_OWNER_POLICIES = """
    select policyname, tablename from pg_policies
    where schemaname = 'public' and roles <> '{public}' and not (%s = any (roles))
"""
PASSWORD: Final = "password"  # noqa: S105 - the name of a parameter
VECTOR_ENTRY: Final = " EXTENSION - vector"


class DumpFailed(Exception):
    """The database could not be dumped or restored."""


@dataclass(frozen=True, slots=True)
class DumpReport:
    tables: int
    size: int  # bytes of the file


def dump_database(url: str, file: Path) -> DumpReport:
    """Write the database to a new file that only its owner can read. It appears under its name only once it is complete."""
    if file.exists():
        raise DumpFailed(f"{file} exists already.")
    with _connect(url) as connection:
        version = connection.info.server_version // 10_000
        role = connection.info.user
        if not _fetch_value(connection, BYPASSES_RLS):
            raise DumpFailed(
                f"{role} doesn't bypass row-level security, so pg_dump would refuse to read the tables of teams. As a "
                f"superuser, run: {BACKUP_ROLE_SQL} Then set DATABASE_BACKUP_URL to that role."
            )
    program = find_program("pg_dump", version)
    partial = file.with_name(f"{file.name}.partial")
    partial.touch(mode=0o600)
    try:
        _run([program, "--format=custom", "--no-owner", "--no-comments", f"--file={partial}"], url)
        tables = sum(" TABLE DATA " in line for line in _list_entries(partial, version))
        partial.rename(file)
    finally:
        partial.unlink(missing_ok=True)
    return DumpReport(tables, file.stat().st_size)


def restore_database(url: str, file: Path) -> DumpReport:
    """Restore a dump into an empty database as the role that will own the tables. All of it is restored, or nothing.

    Default privileges are off meanwhile: they would add rights that migrations have revoked, such as that to change the
    audit trail.
    """
    with _connect(url) as connection:
        version = connection.info.server_version // 10_000
        entries = [line for line in _list_entries(file, version) if not _names_owner(line)]
        _check_target(connection)
        if any(VECTOR_ENTRY in entry for entry in entries):
            _ensure_vector(connection)
    list_file = file.with_name(f"{file.name}.list")
    list_file.write_text("\n".join(entries))
    program = find_program("pg_restore", version)
    options = ["--no-owner", "--single-transaction", f"--use-list={list_file}"]
    try:
        _execute(url, revoke_default_privileges())
        _run([program, *options, file], url)
    finally:
        list_file.unlink()
        _execute(url, grant_default_privileges())
    with _connect(url) as connection:
        _adopt_policies(connection)
    return DumpReport(sum(" TABLE DATA " in line for line in entries), file.stat().st_size)


def find_program(name: str, version: int) -> Path:
    """Return a client program that is not older than the server, the closest version first."""
    programs: dict[int, Path] = {}
    for path in _list_programs(name):
        text = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if match := re.search(r"\) (\d+)", text.stdout):
            programs.setdefault(int(match[1]), path)
    suitable = [number for number in programs if number >= version]
    if not suitable:
        versions = ", ".join(map(str, sorted(programs))) or "none"
        raise DumpFailed(
            f"{name} of PostgreSQL {version} or newer is needed (programs: {versions}); on Debian: "
            f"apt-get install postgresql-client-{version}."
        )
    return programs[min(suitable)]


def _list_programs(name: str) -> Iterator[Path]:
    if path := shutil.which(name):
        yield Path(path)
    yield from DEBIAN_FOLDER.glob(
        f"*/bin/{name}"
    )  # Debian's wrapper in PATH chooses by its own rules
    with suppress(EmbeddedFault):
        user = OsUser(os.geteuid(), os.getegid(), must_switch=False)
        yield find_binaries(user) / name


def _check_target(connection: psycopg.Connection[Any]) -> None:
    if tables := _fetch_value(connection, COUNT_TABLES):
        name = connection.info.dbname
        raise DumpFailed(
            f"The database {name} contains {tables} tables. Restore into an empty one: create database … owner "
            f"{connection.info.user};"
        )
    if not connection.execute(ROLE_EXISTS, [APP_ROLE]).fetchone():
        raise DumpFailed(
            f"The role {APP_ROLE} is missing, and a dump contains no roles. As a superuser, run: "
            f"create role {APP_ROLE} login password '…';"
        )


def _ensure_vector(connection: psycopg.Connection[Any]) -> None:
    try:
        connection.execute("create extension if not exists vector")
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported) as error:
        raise DumpFailed(
            f"The dump contains embeddings, which need pgvector. As a superuser, run in the database "
            f"{connection.info.dbname}: create extension vector; ({str(error).strip().splitlines()[0]})"
        ) from error


def _names_owner(entry: str) -> bool:
    """Return whether the entry names the owner in the dumped server: ``restore_database`` sets default privileges itself."""
    return " DEFAULT ACL " in entry


def _adopt_policies(connection: psycopg.Connection[Any]) -> None:
    for policy, table in connection.execute(FIND_OWNER_POLICIES, [APP_ROLE]).fetchall():
        statement = sql.SQL("alter policy {} on {} to current_user")
        connection.execute(statement.format(sql.Identifier(policy), sql.Identifier(table)))


def _execute(url: str, statements: Iterable[sql.Composed]) -> None:
    with _connect(url) as connection:
        for statement in statements:
            connection.execute(statement)


def _list_entries(file: Path, version: int) -> list[str]:
    """Return the table of contents, which pg_restore reads only from a complete file."""
    program = find_program("pg_restore", version)
    process = subprocess.run([program, "--list", file], capture_output=True, text=True, check=False)
    if process.returncode:
        raise DumpFailed(f"{file} is not a complete dump: {process.stderr.strip()}")
    return process.stdout.splitlines()


def _run(command: Sequence[str | Path], url: str) -> None:
    parameters = conninfo_to_dict(url)
    environment = {**os.environ, "PGPASSWORD": str(parameters.get(PASSWORD) or "")}
    arguments = [*command, f"--dbname={_build_parameters(url)}"]
    process = subprocess.run(
        arguments, env=environment, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise DumpFailed(process.stderr.strip())


def _build_parameters(url: str) -> str:
    """Return the connection string without the password, which every user of the machine could read in the command line."""
    parameters = {name: value for name, value in conninfo_to_dict(url).items() if name != PASSWORD}
    return psycopg.conninfo.make_conninfo("", **parameters)


def _connect(url: str) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as error:
        raise DumpFailed(str(error).strip()) from error


def _fetch_value(connection: psycopg.Connection[Any], query: str) -> Any:  # Any: by query
    row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None
