"""Rows and objects of curation: its rules, what became of runs, proposals, tasks."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.architecture.matrix_memory import _entry, _namespace_of, _private_entry
from tests.support.cast import Person


def _proposal(person: Person, canary: str) -> Any:
    return _proposed(person, canary, _entry(person, canary))


def _private_proposal(person: Person, canary: str) -> Any:
    return _proposed(person, canary, _private_entry(person, canary))


def _proposed(person: Person, canary: str, entry_id: Any) -> Any:
    """To forget it, with what it says."""
    from accounts.tenancy import tenant
    from memory.models import Proposal

    namespace_id = _namespace_of(person, entry_id)
    target = {"key": canary, "revision": 1, "value": canary}
    with tenant([person.team.id]):
        row, _made = Proposal.objects.unscoped().get_or_create(
            team=person.team,
            namespace_id=namespace_id,
            kind="forget",
            fingerprint=canary,
            defaults={"targets": [target], "reason": canary, "by": canary},
        )
    return row.pk


def _curation(person: Person, canary: str) -> Any:
    from accounts.tenancy import tenant
    from memory.models import Curation

    with tenant([person.team.id]):
        row, _made = Curation.objects.unscoped().get_or_create(
            team=person.team,
            run_id=canary,
            defaults={"place": f"user:{person.user.pk}", "problem": canary, "status": "failed"},
        )
    return row.pk


def _rule(person: Person, canary: str) -> Any:
    from accounts.tenancy import tenant
    from memory.models import CurationRule

    with tenant([person.team.id]):
        return CurationRule.objects.unscoped().create(team=person.team, app_id=canary).pk


OBJECTS: dict[str, Maker] = {
    "proposal": _proposal,
    "private proposal": _private_proposal,
    "curation": _curation,
    "curation rule": _rule,
}

ROWS: list[Row] = []
