"""Creates the database, and the role that the app logs in as, which owns no table and can't bypass row-level security.

The role gets its rights to later tables from the default privileges of the owner. "Grant on all tables" runs only once,
because it would undo a migration that revokes a right (as the audit trail's does).
"""

from contextlib import suppress
from typing import Any

import psycopg
from psycopg import sql


APP_ROLE = "mnemoflow_app"

ROLE_EXISTS = "select 1 from pg_roles where rolname = %s"
DATABASE_EXISTS = "select 1 from pg_database where datname = %s"
CREATE_ROLE = sql.SQL(
    "create role {role} login nosuperuser nobypassrls nocreatedb nocreaterole noreplication"
)
DEFAULT_PRIVILEGES = [
    sql.SQL("grant usage on schema public to {role}"),
    sql.SQL(
        "alter default privileges in schema public grant select, insert, update, delete on tables to {role}"
    ),
    sql.SQL("alter default privileges in schema public grant usage, select on sequences to {role}"),
]
NO_DEFAULT_PRIVILEGES = [
    sql.SQL("alter default privileges in schema public revoke all on tables from {role}"),
    sql.SQL("alter default privileges in schema public revoke all on sequences from {role}"),
]
GRANTS = [
    *DEFAULT_PRIVILEGES,
    # For tables that are older than the role, from installations that began with a single role.
    sql.SQL("grant select, insert, update, delete on all tables in schema public to {role}"),
    sql.SQL("grant usage, select on all sequences in schema public to {role}"),
]
VECTOR_IS_MISSING = (
    "select 1 from pg_available_extensions where name = 'vector' and installed_version is null"
)
DEFAULT_PRIVILEGES_EXIST = """
    select 1 from pg_default_acl, aclexplode(defaclacl) as acl
    where acl.grantee = (select oid from pg_roles where rolname = %s) and acl.grantor = current_user::regrole
"""


def ensure_database(connection: psycopg.Connection[Any], name: str) -> None:
    if not connection.execute(DATABASE_EXISTS, [name]).fetchone():
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))


def ensure_role(connection: psycopg.Connection[Any], role: str = APP_ROLE) -> None:
    """Create the app's role with its privileges, and the vector type if available, unless they exist already.

    ``connection`` is one of the owner to this database, in autocommit.
    """
    names = {"role": sql.Identifier(role)}
    if not connection.execute(ROLE_EXISTS, [role]).fetchone():
        connection.execute(CREATE_ROLE.format(**names))
    if not connection.execute(DEFAULT_PRIVILEGES_EXIST, [role]).fetchone():
        with connection.transaction():
            for grant in GRANTS:
                connection.execute(grant.format(**names))
    if connection.execute(VECTOR_IS_MISSING).fetchone():
        # The extension is optional: without it, memory is searched by text (memory.embedding.vector_column).
        with suppress(psycopg.errors.InsufficientPrivilege):
            connection.execute("create extension vector")


def grant_default_privileges(role: str = APP_ROLE) -> list[sql.Composed]:
    """Return the statements that give the role its rights to tables that the current role will create."""
    return [grant.format(role=sql.Identifier(role)) for grant in DEFAULT_PRIVILEGES]


def revoke_default_privileges(role: str = APP_ROLE) -> list[sql.Composed]:
    return [revoke.format(role=sql.Identifier(role)) for revoke in NO_DEFAULT_PRIVILEGES]


def join_role(connection: psycopg.Connection[Any], member: str, role: str = APP_ROLE) -> None:
    """Grant the app role's rights to a login with another name."""
    names = {"role": sql.Identifier(role), "member": sql.Identifier(member)}
    connection.execute(sql.SQL("grant {role} to {member}").format(**names))
