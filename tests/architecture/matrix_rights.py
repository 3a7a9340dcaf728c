"""Rows and objects of rights on memory: emergency access, grants, who can see this and why."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.architecture.matrix_memory import NAMESPACE, PRIVATE_NAMESPACE, _private_namespace
from tests.support.cast import Person


def _emergency_access(person: Person, canary: str) -> Any:
    """The person looked into their own memory, which nobody needs to; an outsider's row all the same."""
    from django.utils import timezone

    from accounts.tenancy import tenant
    from memory.models import EmergencyAccess

    namespace_id = _private_namespace(person, canary)
    with tenant([person.team.id]):
        row = EmergencyAccess.objects.unscoped().create(
            team=person.team,
            namespace_id=namespace_id,
            by=person.user,
            reason=canary,
            expires_at=timezone.now() + timedelta(minutes=15),
        )
    return row.pk


OBJECTS: dict[str, Maker] = {"emergency_access": _emergency_access}

WITH_MEMBER = {**NAMESPACE, "with": "account"}
WITH_ME = {**PRIVATE_NAMESPACE, "with": "account"}
EMERGENCY_ACCESS = {"access_id": "emergency_access"}
ASKED = {"namespace": "user:nobody", "reason": "why", "minutes": 15}
API = "api/v1/memory/namespaces/<uuid:namespace_id>"
PAGE = "memory/namespaces/<uuid:namespace_id>/access/"

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("GET", PAGE, "- 404 200 200 200 -", NAMESPACE),
    Row("GET", PAGE, "- 404 404 404 404 -", PRIVATE_NAMESPACE),
    *(
        row
        for verb in ("share", "unshare")
        for row in (
            Row("POST", f"{PAGE}{verb}/", "- 404 403 403 302 -", WITH_MEMBER, {"verb": "view"}),
            Row("POST", f"{PAGE}{verb}/", "- 404 404 404 404 -", WITH_ME, {"verb": "view"}),
        )
    ),
    Row("GET", "memory/policy/", "- 200 200 200 200 -"),
    Row("POST", "memory/policy/", "- 302 403 403 302 -", body={"max_entries": "9"}),
    Row("GET", "api/v1/memory/policy", "- 200 200 200 200 200"),
    Row("PUT", "api/v1/memory/policy", "- 200 403 403 200 403", body={"max_entries": 9}),
    Row("GET", "memory/emergency-access/", "- 200 200 200 200 -"),
    Row("GET", "memory/emergency-access/notices/", "- 204 204 204 204 -"),
    Row("POST", "memory/emergency-access/", "- 422 403 403 422 -", body=ASKED),
    Row(
        "POST",
        "memory/emergency-access/<uuid:access_id>/end/",
        "- 404 404 404 302 -",
        EMERGENCY_ACCESS,
        {},
    ),
    Row(
        "POST",
        "memory/emergency-access/<uuid:access_id>/seen/",
        "- 404 404 404 404 -",
        EMERGENCY_ACCESS,
        {},
    ),
    Row("GET", f"{API}/access", "- 404 200 200 200 404", NAMESPACE),
    Row("GET", f"{API}/access", "- 404 404 404 404 404", PRIVATE_NAMESPACE),
    Row("GET", f"{API}/grants", "- 404 200 200 200 404", NAMESPACE),
    Row("GET", f"{API}/grants", "- 404 404 404 404 404", PRIVATE_NAMESPACE),
    Row("GET", "api/v1/memory/emergency-access", "- 200 200 200 200 200"),
    Row("POST", "api/v1/memory/emergency-access", "- 404 403 403 404 403", body=ASKED),
    Row(
        "POST",
        "api/v1/memory/emergency-access/<uuid:access_id>/end",
        "- 404 404 404 200 404",
        EMERGENCY_ACCESS,
        {},
    ),
    # Whose memory it is says so, nobody else
    Row(
        "POST",
        "api/v1/memory/emergency-access/<uuid:access_id>/seen",
        "- 404 404 404 404 404",
        EMERGENCY_ACCESS,
        {},
    ),
]
