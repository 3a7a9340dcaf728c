"""Start-up checks: what would make a wall weak without anybody noticing."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections
from django.db.utils import OperationalError


ROLE = "select rolsuper or rolbypassrls, rolname from pg_roles where rolname = current_user"
OWNED = "select count(*) from pg_tables where schemaname = current_schema() and tableowner = current_user"


@register(Tags.database)
def app_role_is_bound_by_policies(
    databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Row-level security does not hold for superusers, nor (unforced) for owners."""
    if "default" not in (databases or ()):
        return []
    try:
        with connections["default"].cursor() as cursor:
            cursor.execute(ROLE)
            above, role = cursor.fetchone() or (False, "")
            cursor.execute(OWNED)
            (owned,) = cursor.fetchone() or (0,)
    except OperationalError as error:
        return [Error(f"The database does not answer: {error}", id="config.E001")]
    if above:
        return [_weak(f"{role} is a superuser or may bypass row-level security", "config.W001")]
    if owned:
        return [_weak(f"{role} owns {owned} tables", "config.W002")]
    return []


def _weak(reason: str, name: str) -> CheckMessage:
    hint = "Give DATABASE_URL a role of its own and DATABASE_OWNER_URL the owner; docs/howto/run-it.md says how."
    return checks.Warning(f"The second wall between teams is weak: {reason}.", hint=hint, id=name)
