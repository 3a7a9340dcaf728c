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


def _task(person: Person, canary: str) -> Any:
    from workflows.services.tasks import create_task

    return create_task(person.principal, team_id=person.team.pk, title=canary).pk


OBJECTS: dict[str, Maker] = {
    "task": _task,
    "proposal": _proposal,
    "private proposal": _private_proposal,
    "curation": _curation,
    "curation rule": _rule,
}

PROPOSAL = {"proposal_id": "proposal"}
PRIVATE = {"proposal_id": "private proposal"}
REVIEW = "api/v1/memory/review/<uuid:proposal_id>"
RULE = {"auto_memory": True}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("GET", "memory/learning/", "- 200 200 200 200 -"),
    Row("GET", "api/v1/memory/learning", "- 200 200 200 200 200"),
    Row("GET", "api/v1/memory/curation/rules", "- 200 200 200 200 200"),
    Row("PUT", "api/v1/memory/curation/rules", "- 200 403 200 200 200", body=RULE),
    Row("GET", "api/v1/memory/curations", "- 200 200 200 200 200"),
    Row(
        "POST",
        "api/v1/memory/curations/<uuid:curation_id>/retry",
        "- 404 404 404 404 404",
        {"curation_id": "curation"},
        {},
    ),
    Row("GET", "api/v1/memory/review", "- 200 200 200 200 200"),
    Row("GET", REVIEW, "- 404 200 200 200 404", PROPOSAL),
    Row("GET", REVIEW, "- 404 404 404 404 404", PRIVATE),
    Row("POST", f"{REVIEW}/dry-run", "- 404 200 200 200 404", PROPOSAL, {}),
    Row("POST", f"{REVIEW}/dry-run", "- 404 404 404 404 404", PRIVATE, {}),
    *(
        row
        for verb in ("apply", "reject")
        for row in (
            Row("POST", f"{REVIEW}/{verb}", "- 404 403 200 200 404", PROPOSAL, {}),
            Row("POST", f"{REVIEW}/{verb}", "- 404 404 404 404 404", PRIVATE, {}),
        )
    ),
    Row("POST", f"{REVIEW}/decide", "- 404 403 422 422 404", PROPOSAL, {"choice": "both"}),
    Row("POST", f"{REVIEW}/decide", "- 404 404 404 404 404", PRIVATE, {"choice": "both"}),
    # A task is its owner's alone
    Row("GET", "api/v1/tasks", "- 200 200 200 200 200"),
    Row("POST", "api/v1/tasks", "- 201 201 201 201 201", body={"title": "Sort"}),
    Row("GET", "api/v1/tasks/<uuid:task_id>", "- 404 404 404 404 404", {"task_id": "task"}),
    Row(
        "POST",
        "api/v1/tasks/<uuid:task_id>/execute",
        "- 404 404 404 404 404",
        {"task_id": "task"},
        {},
    ),
    Row("GET", "tasks/", "- 200 200 200 200 -"),
    Row("POST", "tasks/", "- 302 302 302 302 -", body={"title": "Sort"}),
    Row("GET", "tasks/<uuid:task_id>/", "- 404 404 404 404 -", {"task_id": "task"}),
    Row("POST", "tasks/<uuid:task_id>/execute/", "- 404 404 404 404 -", {"task_id": "task"}, {}),
    # Nothing was decided yet that could be taken back
    *(
        Row("POST", f"{REVIEW}/{verb}", "- 404 403 422 422 404", PROPOSAL, {})
        for verb in ("reopen", "undo")
    ),
]
