"""Callers as the cast makes them."""

from typing import Any
from uuid import UUID

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory.services import CallOrigin, MemoryCaller, list_reachable
from tests.support.cast import Person


def at_door(person: Person) -> MemoryCaller:
    return MemoryCaller(person.principal, person.team.id)


def in_run(person: Person, *, outside: bool = False, **identity: Any) -> MemoryCaller:
    """A run this person started, for themselves unless ``user_id`` says otherwise."""
    known = {"user_id": str(person.user.pk), "app_id": "app", "run_id": "r1", **identity}
    return MemoryCaller(
        person.principal,
        person.team.id,
        identity=known,
        reach=list_reachable(known),
        origin=CallOrigin("r1", "node", "step-1"),
        participants=frozenset({person.user.pk}),
        is_for_external_user=outside,
    )


def trail(team_id: UUID) -> list[tuple[str, str, bool]]:
    with tenant([team_id]):
        rows = AuditEntry.objects.unscoped().filter(team_id=team_id, action__startswith="memory.")
        return list(rows.order_by("seq").values_list("action", "subject", "success"))
