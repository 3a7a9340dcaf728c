"""Start-up checks for anything that would weaken an isolation layer without anybody noticing."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections
from django.db.utils import OperationalError


ROLE = "select rolsuper or rolbypassrls, rolname from pg_roles where rolname = current_user"
OWNED = "select count(*) from pg_tables where schemaname = current_schema() and tableowner = current_user"


@register(Tags.database)
def check_app_role(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Check that row-level security applies to the app's role: it doesn't to superusers, nor (unforced) to owners."""
    if "default" not in (databases or ()):
        return []
    try:
        with connections["default"].cursor() as cursor:
            cursor.execute(ROLE)
            above, role = cursor.fetchone() or (False, "")
            cursor.execute(OWNED)
            (owned,) = cursor.fetchone() or (0,)
    except OperationalError as error:
        return [Error(f"The database doesn't respond: {error}", id="config.E001")]
    if above:
        return [
            _build_warning(f"{role} is a superuser or may bypass row-level security", "config.W001")
        ]
    if owned:
        return [_build_warning(f"{role} owns {owned} tables", "config.W002")]
    return []


def _build_warning(reason: str, name: str) -> CheckMessage:
    hint = "Give DATABASE_URL a role of its own and DATABASE_OWNER_URL the owner; docs/operate/run-it.md says how."
    return checks.Warning(f"Row-level security is not effective: {reason}.", hint=hint, id=name)
