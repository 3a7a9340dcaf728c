"""Rows behind the answers, and runs that nobody executes."""

from typing import Any

from accounts.models import AuditEntry
from accounts.principals import KeyPrincipal
from accounts.tenancy import tenant
from tests.support.cast import KeyClient, Person
from workflows.models import Run, Workflow
from workflows.services.runs.runs import start_run


def start(program: KeyClient, workflow: Workflow, user: str, **given: Any) -> Run:
    """Queue a run of the program for a user. Nobody executes it."""
    return start_run(KeyPrincipal(program.key), workflow=workflow, subject=user, **given)


def read_run(run: Run) -> Run:
    with tenant([run.team_id]):
        return Run.objects.unscoped().get(pk=run.pk)


def read_audit(person: Person, action: str) -> list[AuditEntry]:
    with tenant([person.team.pk]):
        rows = AuditEntry.objects.unscoped().filter(team_id=person.team.pk, action=action)
        return list(rows.order_by("seq"))
