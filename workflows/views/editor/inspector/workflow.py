"""The settings of the workflow itself: what it is called, how a chat opens, and its variables."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from workflows import memory_app
from workflows.engine.language.document import Document, Json, VariableSpec
from workflows.engine.language.validation.variables import CONVERSATION_TYPES, ENVIRONMENT_TYPES
from workflows.engine.language.values import ValueType
from workflows.models import Workflow
from workflows.models.documents import is_secret


@dataclass(frozen=True, slots=True)
class Area:
    """One list of variables; the op ``variable`` names it by ``name``."""

    name: str
    variables: tuple[dict[str, Json], ...]
    types: tuple[str, ...]


def workflow_form(workflow: Workflow, document: Document) -> dict[str, Any]:
    features = document.features
    questions = features.get("suggested_questions")
    opening = features.get("opening_statement")
    return {
        "opening": opening if isinstance(opening, str) else "",
        "questions": [str(q) for q in questions] if isinstance(questions, list) else [],
        "areas": (
            Area(
                "environment",
                _variables(document.environment),
                _types(ENVIRONMENT_TYPES - {ValueType.NONE, ValueType.ANY}),
            ),
            Area("conversation", _variables(document.conversation), _types(CONVERSATION_TYPES)),
        ),
        "counts": {"nodes": len(document.nodes), "edges": len(document.edges)},
        "is_chat": workflow.is_chat,
        "held": {"features": dict(features), "name": workflow.name},
        "learning": _learning(workflow),
    }


def _learning(workflow: Workflow) -> dict[str, Any] | None:
    """Whether its runs teach it something, and where that is switched."""
    if not memory_app.is_on():
        return None
    rule = memory_app.learning_of(workflow.team_id, str(workflow.pk))
    url = f"{reverse('memory:curation_settings')}?app={workflow.pk}"
    return {"is_on": rule.auto_memory, "url": url}


def _variables(specs: Iterable[VariableSpec]) -> tuple[dict[str, Json], ...]:
    """What is secret stays on the server: the form only ever puts a new one in."""
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


def _types(types: Iterable[ValueType]) -> tuple[str, ...]:
    order = list(ValueType)
    return tuple(kind.value for kind in sorted(types, key=order.index))
