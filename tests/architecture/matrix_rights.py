"""Rows and objects of rights on memory: emergency access, grants, who can see this and why."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.architecture.matrix_memory import _private_namespace
from tests.support.cast import Person


def _glass(person: Person, canary: str) -> Any:
    """The person looked into their own memory, which nobody needs to; an outsider's row all the same."""
    from django.utils import timezone

    from accounts.tenancy import tenant
    from memory.models import Glass

    namespace_id = _private_namespace(person, canary)
    with tenant([person.team.id]):
        row = Glass.objects.unscoped().create(
            team=person.team,
            namespace_id=namespace_id,
            by=person.user,
            reason=canary,
            expires_at=timezone.now() + timedelta(minutes=15),
        )
    return row.pk


OBJECTS: dict[str, Maker] = {"glass": _glass}

ROWS: list[Row] = []
