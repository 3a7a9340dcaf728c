"""Audit log entries of changes to this app's rows. They contain ids and counts, never values."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts import audit
from accounts.access import Principal
from accounts.tenancy import HasTeams, TenantModel
from workflows.models import (
    Credential,
    DataCase,
    DataSet,
    Folder,
    ModelProvider,
    Run,
    RunSubscription,
    StoredFile,
    Task,
    ToolConnection,
    Trigger,
    Workflow,
)


# The prefixes of the actions whose subjects are this app's rows.
FAMILIES = (
    "workflow",
    "run",
    "folder",
    "comment",
    "case",
    "credential",
    "task",
    "tool",
    "data_set",
    "file",
    "conversation",
    "trigger",
)
# model → the field with its name, and the URL name of the page that any member of the team may open
NAME_SOURCES: Mapping[type[TenantModel], tuple[str, str]] = {
    Workflow: ("name", "workflows:detail"),
    Run: ("workflow__name", ""),
    StoredFile: ("kind", ""),
    Folder: ("name", ""),
    Credential: ("name", ""),
    ModelProvider: ("name", ""),
    Task: ("workflow__name", ""),
    DataCase: ("name", ""),
    DataSet: ("name", "workflows:data_set"),
    Trigger: ("title", ""),
    RunSubscription: ("url", ""),
    ToolConnection: ("name", ""),
}
# What a model was called in older entries of the trail → the model that has its rows.
FORMER_NAMES: Mapping[str, type[TenantModel]] = {"testcase": DataCase}


def record(principal: Principal, row: TenantModel, action: str, **detail: Any) -> None:  # Any: JSON
    """Record a change in the caller's transaction, so that neither is committed without the other.

    Call this last in a service: the entry locks the team's audit chain until the commit, so that a service that locked
    a row afterwards could deadlock with another one.
    """
    audit.record(
        team_id=row.team_id,
        actor=principal.actor,
        actor_kind=principal.kind,
        action=action,
        subject=f"{row._meta.model_name}:{row.pk}",
        detail=detail,
    )


def list_display_names(
    principal: HasTeams, team_id: UUID, subjects: Sequence[str]
) -> dict[str, audit.DisplayName]:
    """Return the display names of the audit log's subjects. Runs, tasks and files are named without their private texts."""
    names: dict[str, audit.DisplayName] = {}
    own_names = {str(model._meta.model_name): model for model in NAME_SOURCES}
    sources = {**own_names, **FORMER_NAMES}
    for model_name, model in sources.items():
        field, url_name = NAME_SOURCES[model]
        ids = _parse_ids(subjects, model_name)
        if not ids:
            continue
        rows = model._base_manager.filter(team_id=team_id, pk__in=ids).values_list("pk", field)
        for pk, name in rows:
            url = reverse(url_name, args=[pk]) if url_name else ""
            names[f"{model_name}:{pk}"] = audit.DisplayName(_name(model, name), url)
    return names


def _name(model: type[TenantModel], name: str | None) -> str:
    if model is Run:
        return _("A run of %(workflow)s") % {"workflow": name}
    if model is StoredFile:
        return _("A file")
    if model is DataSet and not name:
        return _("The tests of a workflow")
    if model is Task:
        return _("A task for %(workflow)s") % {"workflow": name} if name else _("A task")
    return name or ""


def _parse_ids(subjects: Sequence[str], model_name: str) -> list[UUID]:
    ids = []
    for subject in subjects:
        try:
            if subject.startswith(f"{model_name}:"):
                ids.append(UUID(subject.partition(":")[2]))
        except ValueError:
            continue
    return ids
