"""The context of a node's form in a team that has connected nothing, for tests of many documents without a database."""

from typing import Any

from django.utils import translation

from workflows.engine.answerers import TYPES
from workflows.engine.language.document import Document, NodeSpec
from workflows.engine.language.validation import validate_node
from workflows.execution.kinds import load_kinds
from workflows.views.editor.inspector import panel
from workflows.views.editor.inspector.agents import ToolChoices
from workflows.views.editor.inspector.models import ModelChoices


def build_panel_context(document: Document, node: NodeSpec) -> dict[str, Any]:
    """Return what ``inspector/_node.html`` is drawn with, for a person who may edit."""
    return {
        **panel._build_node_context(
            document, node, 1, validate_node(document, load_kinds(), node.id)
        ),
        **dict.fromkeys(
            ("model_choices", "fallback_choices", "rerank_choices"), ModelChoices((), ())
        ),
        "tool_choices": ToolChoices(()),
        "people_choices": {},
        "answerer_types": [(value, translation.gettext(label)) for value, label in TYPES],
        "can_edit": True,
        "workflow": None,
        "providers": [],
        "provider_names": [],
    }
