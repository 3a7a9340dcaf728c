"""Start-up checks for settings that would silently weaken an isolation layer."""

import sys
from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.db import connections
from django.db.utils import OperationalError


ROLE_QUERY = "select rolsuper or rolbypassrls, rolname from pg_roles where rolname = current_user"
OWNED_TABLES_QUERY = "select count(*) from pg_tables where schemaname = current_schema() and tableowner = current_user"


BEFORE_START = (
    "before_start"  # the tag of checks whose errors keep up, migrations and workers from starting
)


@checks.register(checks.Tags.database)
def check_app_role(databases: Sequence[str] | None = None, **_: Any) -> list[checks.CheckMessage]:
    """Check that row-level security applies to the app's role, because superusers and table owners may bypass it."""
    if "default" not in (databases or ()):
        return []
    try:
        role, bypasses_rls, table_count = read_app_role()
    except OperationalError as error:
        return [checks.Error(f"The database doesn't respond: {error}", id="config.E001")]
    if bypasses_rls:
        reason = f"{role} is a superuser or may bypass row-level security"
        return [_build_warning(reason, "config.W001")]
    if table_count:
        return [_build_warning(f"{role} owns {table_count} tables", "config.W002")]
    return []


def refuse_bad_start() -> None:
    """End the process with a sentence for each error, such as a setting that would hide stored memory."""
    messages = checks.run_checks(tags=[BEFORE_START], databases=["default"])
    close_connection()
    if errors := [message for message in messages if message.is_serious()]:
        sys.exit("\n".join(f"{error.msg} {error.hint or ''}".rstrip() for error in errors))


def close_connection() -> None:
    """Give back the connection of a thread that asks the database for nothing else."""
    connections["default"].close()


def read_app_role() -> tuple[str, bool, int]:
    """Return the database role's name, whether it bypasses row-level security, and how many tables it owns."""
    with connections["default"].cursor() as cursor:
        cursor.execute(ROLE_QUERY)
        bypasses_rls, role = cursor.fetchone() or (True, "?")
        cursor.execute(OWNED_TABLES_QUERY)
        (table_count,) = cursor.fetchone() or (0,)
    return role, bypasses_rls, table_count


def _build_warning(reason: str, name: str) -> checks.CheckMessage:
    hint = "Give DATABASE_URL a role of its own and DATABASE_OWNER_URL the owner; docs/operate/run-it.md says how."
    return checks.Warning(f"Row-level security is not effective: {reason}.", hint=hint, id=name)
