"""Rows of the editor's features: outline, find, copy, notes, picture."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _annotated(person: Person, canary: str) -> Any:
    """Its nodes and its note hold the canary."""
    from tests.factories.workflows import document, make_workflow
    from workflows.engine.editing.decode import read_ops
    from workflows.services.editing import gestures

    workflow = make_workflow(person, canary, document(canary))
    note = {"id": "note", "x": 0, "y": 0, "data": {"text": canary}}
    gestures.edit(person.principal, workflow=workflow, ops=read_ops([{"op": "note", "note": note}]))
    return workflow.pk


OBJECTS: dict[str, Maker] = {"annotated workflow": _annotated}

DRAFT = {"workflow_id": "annotated workflow"}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("GET", "workflows/<uuid:workflow_id>/outline/", "- 404 200 200 200 -", DRAFT),
    Row(
        "GET",
        "workflows/<uuid:workflow_id>/outline/",
        "- 404 200 200 200 -",
        DRAFT,
        {"node": "end"},
    ),
    Row(
        "POST",
        "workflows/<uuid:workflow_id>/outline/",
        "- 404 403 302 302 -",
        DRAFT,
        {"do": "rename", "node": "end", "title": "x"},
    ),
    Row("GET", "workflows/<uuid:workflow_id>/find/", "- 404 200 200 200 -", DRAFT, {"q": "e"}),
    Row("GET", "workflows/<uuid:workflow_id>/copy/", "- 404 200 200 200 -", DRAFT, {"id": "start"}),
    Row(
        "GET",
        "workflows/<uuid:workflow_id>/note/",
        "- 404 200 200 200 -",
        DRAFT,
        {"id": "note"},
    ),
    Row("GET", "workflows/<uuid:workflow_id>/export.svg", "- 404 200 200 200 -", DRAFT),
]
