"""Models: the published workflows that a key may run.

The id of a model is the short name of its workflow, which is unique in the team and stays when the workflow is renamed.
``name@3`` pins version 3, and ``name@a-note`` the newest version whose note is "A note".
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q
from django.utils.text import slugify
from django.utils.translation import gettext as _

from accounts.principals import Principal
from workflows.models import Version, Workflow
from workflows.openai_api.errors import ModelNotFound
from workflows.services.publishing import list_published_workflows


MAX_DIGITS = 10  # of a version's number
MAX_NAMED = 5  # models in the message about an unknown one
_ORDER: Final = ("slug", "id")


@dataclass(frozen=True, slots=True)
class SelectedModel:
    """A workflow and the version of it that the id of a model stands for. ``id`` is the one that the client sent."""

    id: str
    workflow: Workflow
    version: Version


def list_models(principal: Principal, team_id: UUID) -> list[Workflow]:
    """Return the published workflows that the principal may run, by their short names."""
    return list_published_workflows(principal, team_id, *_ORDER, with_documents=False)


def find_model(principal: Principal, team_id: UUID, model_id: str) -> SelectedModel:
    """Return the workflow and version of a model's id. Raises ModelNotFound, which names the models that there are."""
    name, _at, pin = model_id.strip().partition("@")
    workflow = _find_workflow(principal, team_id, name)
    if workflow is None or workflow.published_version is None:
        raise ModelNotFound(_describe_missing(model_id, list_models(principal, team_id)))
    version = _find_version(principal, workflow, pin) if pin else workflow.published_version
    if version is None:
        message = _("The model %(name)s has no version %(pin)s.")
        raise ModelNotFound(message % {"name": name, "pin": pin})
    return SelectedModel(model_id, workflow, version)


def _find_workflow(principal: Principal, team_id: UUID, name: str) -> Workflow | None:
    """Return the published workflow with this short name or id, without the documents of the others."""
    if "\0" in name:
        return None  # which PostgreSQL takes in no text
    condition = Q(slug=name)
    with suppress(ValueError):
        condition |= Q(pk=UUID(name))
    models = list_published_workflows(
        principal, team_id, *_ORDER, condition=condition, with_documents=False
    )
    return next((each for each in models if name in (get_id(each), str(each.pk))), None)


def get_id(workflow: Workflow) -> str:
    return workflow.slug or str(workflow.pk)


def serialize_model(workflow: Workflow, model_id: str | None = None) -> dict[str, Any]:  # Any: JSON
    return {
        "id": model_id or get_id(workflow),
        "object": "model",
        "created": int(workflow.created_at.timestamp()),
        "owned_by": workflow.team.name,
        # Not OpenAI's: some clients show it instead of the id.
        "name": workflow.name,
    }


def _find_version(principal: Principal, workflow: Workflow, pin: str) -> Version | None:
    rows = Version.objects.visible_to(principal).filter(workflow=workflow)
    rows = rows.select_related("snapshot").order_by("-number")
    if pin.isascii() and pin.isdecimal() and len(pin) < MAX_DIGITS:
        return rows.filter(number=int(pin)).first()
    notes = rows.exclude(note="").values_list("number", "note")
    pinned_name = slugify(pin, allow_unicode=True)
    number = next((number for number, note in notes if _make_name(note) == pinned_name), None)
    return rows.filter(number=number).first() if number else None


def _make_name(note: str) -> str:
    """Return the name of a version: the first line of its note, as short names are written."""
    first_line = note.strip().partition("\n")[0]
    return slugify(first_line, allow_unicode=True)


def _describe_missing(model_id: str, models: Sequence[Workflow]) -> str:
    message = _("The model %(name)s doesn't exist, or this API key may not use it.")
    message %= {"name": model_id[:100]}
    names = ", ".join(get_id(each) for each in models[:MAX_NAMED])
    hint = (
        _("Models of this API key: %(names)s.") % {"names": names}
        if models
        else _("No published workflow can be run with this API key.")
    )
    return f"{message} {hint}"
