"""Rows of the inspector: a node's form and what is looked up beside it."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _node(person: Person, canary: str) -> Any:
    return "end"


def _recalling(person: Person, canary: str) -> Any:
    """A node of it recalls what everybody of the team may see."""
    from memory.services.entries.remember import remember
    from memory.services.gateway.caller import MemoryCaller
    from tests.factories.workflows import document, make_workflow

    source = document(canary)
    recall = {"type": "memory-recall", "title": canary, "scope": "global"}
    source["nodes"].append({"id": "recall", "data": recall})
    workflow = make_workflow(person, canary, source)
    caller = MemoryCaller(person.principal, person.team.pk, identity={"app_id": str(workflow.pk)})
    remember(caller, scope="global", key="k", value=canary)
    return workflow.pk


def _recall(person: Person, canary: str) -> Any:
    return "recall"


def _replaceable(person: Person, canary: str) -> Any:
    """A node of it has a type that is missing here."""
    from tests.factories.workflows import document, make_workflow

    source = document(canary)
    source["nodes"].append({"id": "missing", "data": {"type": "mail-sorter", "title": canary}})
    return make_workflow(person, canary, source).pk


def _missing(person: Person, canary: str) -> Any:
    return "missing"


OBJECTS: dict[str, Maker] = {
    "replaceable workflow": _replaceable,
    "missing node": _missing,
    "node": _node,
    "recalling workflow": _recalling,
    "recalling node": _recall,
}

NODE = {"workflow_id": "annotated workflow", "node_key": "node"}
RECALL = {"workflow_id": "recalling workflow", "node_key": "recalling node"}

# A node's key is a name within its workflow: the same word means a node of one's own.
KEY_IS_A_NAME = {"workflow_id": 404, "node_key": 200}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row(
        "GET",
        "workflows/<uuid:workflow_id>/nodes/<str:node_key>/",
        "- 404 200 200 200 -",
        NODE,
        foreign=KEY_IS_A_NAME,
    ),
    Row(
        "GET",
        "workflows/<uuid:workflow_id>/nodes/<str:node_key>/replacement/",
        "- 404 403 200 200 -",
        {"workflow_id": "replaceable workflow", "node_key": "missing node"},
        {"kind": "answer"},
        foreign=KEY_IS_A_NAME,
    ),
    Row(
        "GET",
        "workflows/<uuid:workflow_id>/inspector/",
        "- 404 200 200 200 -",
        {"workflow_id": "annotated workflow"},
    ),
    Row(
        "GET",
        "workflows/<uuid:workflow_id>/nodes/<str:node_key>/rendered/",
        "- 404 200 200 200 -",
        NODE,
        {"path": "outputs.0.variable"},
        foreign=KEY_IS_A_NAME,
    ),
    Row(
        "GET",
        "workflows/<uuid:workflow_id>/nodes/<str:node_key>/recall/",
        "- 404 200 200 200 -",
        RECALL,
        foreign=KEY_IS_A_NAME,
    ),
    Row(
        "POST",
        "workflows/<uuid:workflow_id>/check-code/",
        "- 404 403 200 200 -",
        {"workflow_id": "annotated workflow"},
        {"source": "def main():\n    return {}", "language": "python3"},
    ),
]
