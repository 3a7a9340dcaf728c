"""The audit line of a change to something of this app: ids and counts, never a value."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts import audit
from accounts.access import Principal
from accounts.tenancy import HasTeams, TenantModel
from workflows.models import Credential, Folder, Run, TestCase, Workflow


# Families of actions whose subjects are this app's rows.
FAMILIES = ("workflow", "run", "folder", "comment", "case", "credential", "task")


def note(principal: Principal, row: TenantModel, action: str, **detail: Any) -> None:  # Any: JSON
    """In the caller's transaction: no change without its line, no line without its change.

    Last in a service: the line locks the team's chain until the commit, and whoever then waits for
    a row that another holds, who waits for the chain, waits for ever.
    """
    audit.record(
        team_id=row.team_id,
        actor=principal.actor,
        actor_kind=principal.kind,
        action=action,
        subject=f"{row._meta.model_name}:{row.pk}",
        detail=detail,
    )


def names(
    principal: HasTeams, team_id: UUID, subjects: Sequence[str]
) -> dict[str, audit.DisplayName]:
    """What the trail's subjects are called; a run by its workflow, since whose it is stays its people's."""
    found: dict[str, audit.DisplayName] = {}
    for model, (field, address) in _NAMED.items():
        ids = _ids(subjects, str(model._meta.model_name))
        if not ids:
            continue
        rows = model._base_manager.filter(team_id=team_id, pk__in=ids).values_list("pk", field)
        for pk, name in rows:
            url = reverse(address, args=[pk]) if address else ""
            found[f"{model._meta.model_name}:{pk}"] = audit.DisplayName(_said(model, name), url)
    return found


# What it is called by, and the page that everybody of the team may open.
_NAMED: Mapping[type[TenantModel], tuple[str, str]] = {
    Workflow: ("name", "workflows:detail"),
    Run: ("workflow__name", ""),
    Folder: ("name", ""),
    Credential: ("name", ""),
    TestCase: ("name", ""),
}


def _said(model: type[TenantModel], name: str) -> str:
    return _("A run of %(workflow)s") % {"workflow": name} if model is Run else name


def _ids(subjects: Sequence[str], word: str) -> list[UUID]:
    found = []
    for one in subjects:
        try:
            if one.startswith(f"{word}:"):
                found.append(UUID(one.partition(":")[2]))
        except ValueError:
            continue
    return found
