"""The form of the workflow's settings: its name, the opening of a chat, and its variables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows import memory_app
from workflows.engine.files.rules import DEFAULT_COUNT, read_message_rules
from workflows.engine.language.document import Document, Json, VariableSpec
from workflows.engine.language.validation.features import find_feature_problems
from workflows.engine.language.validation.variables import CONVERSATION_TYPES, ENVIRONMENT_TYPES
from workflows.engine.language.values import ValueType
from workflows.engine.nodes.memory.citations import CITATIONS, shows_citations
from workflows.models import Workflow
from workflows.models.documents import is_secret
from workflows.services.chat.suggestions import FOLLOW_UPS, offers_follow_ups


# What the feature for files of messages is set to when it is switched on.
FILE_DEFAULTS: Final[Mapping[str, Json]] = {
    "allowed_file_types": ["image", "document"],
    "allowed_file_extensions": [],
    "allowed_file_upload_methods": ["local_file"],
    "number_limits": DEFAULT_COUNT,
}


@dataclass(frozen=True, slots=True)
class VariableArea:
    """A list of variables; the operation ``variable`` refers to it by ``name``."""

    name: str
    variables: tuple[dict[str, Json], ...]
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FeatureSwitch:
    """Switches a feature of a chat on or off. ``defaults`` are its settings when it is switched on."""

    id: str  # of the element
    feature: str
    title: Promise
    help: Promise
    is_on: bool
    defaults: Mapping[str, Json] = field(default_factory=dict)


def build_workflow_form(workflow: Workflow, document: Document) -> dict[str, Any]:
    """Build the context of the form, without the values of secret variables."""
    features = document.features
    questions, opening = features.get("suggested_questions"), features.get("opening_statement")
    return {
        "opening": opening if isinstance(opening, str) else "",
        "questions": [*map(str, questions)] if isinstance(questions, list) else [],
        "not_offered": [*find_feature_problems(document)],
        "switches": _list_switches(document),
        "areas": (
            VariableArea(
                "environment",
                _serialize_variables(document.environment),
                _sort_types(ENVIRONMENT_TYPES - {ValueType.NONE, ValueType.ANY}),
            ),
            VariableArea(
                "conversation",
                _serialize_variables(document.conversation),
                _sort_types(CONVERSATION_TYPES),
            ),
        ),
        "counts": {"nodes": len(document.nodes), "edges": len(document.edges)},
        "is_chat": workflow.is_chat,
        "script_data": {"features": dict(features), "name": workflow.name},
        "learning": _describe_learning(workflow),
        "tool_url": reverse("workflows:tool_settings", args=[workflow.pk]),
    }


def _list_switches(document: Document) -> tuple[FeatureSwitch, ...]:
    features = document.features
    return (
        FeatureSwitch(
            "f-follow-ups",
            FOLLOW_UPS,
            _("Suggested questions after an answer"),
            _(
                "Your default model suggests what to ask next: one more call for each answer. "
                "Without a model, the questions above are suggested."
            ),
            offers_follow_ups(features),
        ),
        FeatureSwitch(
            "f-files",
            "file_upload",
            _("Files with messages"),
            _(
                "People can attach documents and images; nodes read them as sys.files. "
                "Reload the page to try it."
            ),
            read_message_rules(features) is not None,
            FILE_DEFAULTS,
        ),
        FeatureSwitch(
            "f-citations",
            CITATIONS,
            _("Sources with answers"),
            _("Below each answer, people see the knowledge pages that it rests on."),
            shows_citations(document),
        ),
    )


def _describe_learning(workflow: Workflow) -> dict[str, Any] | None:
    """Return whether the workflow learns from its runs, and the address of that setting."""
    if not memory_app.is_on():
        return None
    rule = memory_app.get_learning_rule(workflow.team_id, str(workflow.pk))
    url = f"{reverse('memory:curation_settings')}?app={workflow.pk}"
    return {"is_on": rule.auto_memory, "url": url}


def _serialize_variables(specs: Iterable[VariableSpec]) -> tuple[dict[str, Json], ...]:
    """Return the variables without secret values: the form can only replace those."""
    return tuple(
        {
            "name": spec.name,
            "type": spec.value_type,
            "value": None if is_secret(spec.value_type) else spec.value,
            "description": spec.description,
            "is_secret": is_secret(spec.value_type),
        }
        for spec in specs
    )


def _sort_types(types: Iterable[ValueType]) -> tuple[str, ...]:
    order = list(ValueType)
    return tuple(kind.value for kind in sorted(types, key=order.index))
