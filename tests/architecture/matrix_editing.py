"""Rows of editing a draft: operations, undo, history, versions."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _edited(person: Person, canary: str) -> Any:
    """A workflow whose log, versions and draft all hold the canary; its draft is past version 1."""
    from tests.factories.workflows import make_version, make_workflow
    from workflows.engine.editing import read_ops
    from workflows.services.editing import gestures

    workflow = make_workflow(person, canary)
    make_version(person, workflow, note=canary)
    ops = read_ops([{"op": "rename", "id": "end", "title": canary}])
    gestures.edit(person.principal, workflow=workflow, ops=ops, label=canary)
    return workflow.pk


def _draft(person: Person, canary: str) -> Any:
    return "draft"


OBJECTS: dict[str, Maker] = {"edited workflow": _edited, "draft": _draft}

DRAFT = {"workflow_id": "edited workflow"}
VERSION = {**DRAFT, "number": "version number"}
HERE = {**DRAFT, "before": "version number", "after": "draft"}
# Every workflow has a draft and a second revision: what tells teams apart is the workflow before it
EVERY_DRAFT = {"workflow_id": 404, "before": 404, "after": 200}
EVERY_LOG = {"workflow_id": 404, "number": 200}
EVERY_LOG_HERE = {"workflow_id": 404, "number": 302}
EDIT = {"ops": [{"op": "move", "id": "end", "x": 1, "y": 1}]}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("PATCH", "api/v1/workflows/<uuid:workflow_id>/draft", "- 404 403 200 200 404", DRAFT, EDIT),
    # What is undone is one's own: nothing, for those who did nothing
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/undo", "- 404 403 409 409 404", DRAFT, {}),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/redo", "- 404 403 409 409 404", DRAFT, {}),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/changes", "- 422 422 422 422 422", DRAFT, foreign=422),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/revisions", "- 404 200 200 200 404", DRAFT),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/revisions/<int:number>/restore", "- 404 403 200 200 404", VERSION, {}, foreign=EVERY_LOG),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/versions", "- 404 403 201 201 404", DRAFT, {"note": "x", "publish": False}),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/versions/<int:number>/publish", "- 404 403 409 409 404", VERSION, {}),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/versions/<int:number>/restore", "- 404 403 200 200 404", VERSION, {}),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/versions/<before>/diff/<after>", "- 404 200 200 200 404", HERE, foreign=EVERY_DRAFT),
    # Pages
    Row("PATCH", "workflows/<uuid:workflow_id>/draft/", "- 404 403 200 200 -", DRAFT, {}),
    Row("POST", "workflows/<uuid:workflow_id>/draft/", "- 404 403 400 400 -", DRAFT, {}),
    Row("POST", "workflows/<uuid:workflow_id>/undo/", "- 404 403 400 400 -", DRAFT, {}),
    Row("POST", "workflows/<uuid:workflow_id>/redo/", "- 404 403 400 400 -", DRAFT, {}),
    Row("GET", "workflows/<uuid:workflow_id>/changes/", "- 404 422 422 422 -", DRAFT),
    Row("GET", "workflows/<uuid:workflow_id>/history/", "- 404 200 200 200 -", DRAFT),
    Row("POST", "workflows/<uuid:workflow_id>/history/<int:number>/", "- 404 403 302 302 -", VERSION, {}, foreign=EVERY_LOG_HERE),
    Row("GET", "workflows/<uuid:workflow_id>/published/", "- 404 200 200 200 -", DRAFT),
    Row("POST", "workflows/<uuid:workflow_id>/key/", "- 404 403 403 200 -", DRAFT, {}),
    Row("POST", "workflows/<uuid:workflow_id>/versions/", "- 404 403 302 302 -", DRAFT, {}),
    Row("POST", "workflows/<uuid:workflow_id>/versions/<int:number>/restore/", "- 404 403 302 302 -", VERSION, {}),
    Row("POST", "workflows/<uuid:workflow_id>/versions/<int:number>/publish/", "- 404 403 302 302 -", VERSION, {}),
    Row("GET", "workflows/<uuid:workflow_id>/versions/<str:before>/diff/<str:after>/", "- 404 200 200 200 -", HERE, foreign=EVERY_DRAFT),
]  # fmt: skip
