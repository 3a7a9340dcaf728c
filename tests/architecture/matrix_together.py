"""Rows and objects of working together: the draft's stream, presence, comments."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _comment(person: Person, canary: str) -> Any:
    """Of the team's owner, as everything the makers make: nobody else may change its words."""
    from tests.factories.workflows import make_workflow
    from workflows.services.editor import comments

    workflow = make_workflow(person, canary)
    return comments.write(person.principal, workflow=workflow, body=canary, node=canary).pk


def _commented(person: Person, canary: str) -> Any:
    from tests.factories.workflows import within
    from workflows.models import Comment

    with within(person):
        return Comment.objects.unscoped().get(pk=_comment(person, canary)).workflow_id


OBJECTS: dict[str, Maker] = {"comment": _comment, "commented workflow": _commented}

DRAFT = {"workflow_id": "commented workflow"}
COMMENT = {"comment_id": "comment"}
TALK = {**DRAFT, "answers": "comment"}
SAID = {"body": "Mine"}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/comments", "- 404 200 200 200 404", DRAFT),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/comments", "- 404 201 201 201 404", DRAFT, SAID),
    # An answer to a comment of another workflow is refused as if that weren't there
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/comments", "- 404 404 404 404 404", TALK, SAID),
    Row("PATCH", "api/v1/comments/<uuid:comment_id>", "- 404 403 403 403 404", COMMENT, SAID),
    Row("PATCH", "api/v1/comments/<uuid:comment_id>", "- 404 403 200 200 404", COMMENT, {"resolved": True}),
    Row("DELETE", "api/v1/comments/<uuid:comment_id>", "- 404 403 403 204 404", COMMENT),
    Row("GET", "workflows/<uuid:workflow_id>/live/", "- 404 422 422 422 -", DRAFT),
    Row("POST", "workflows/<uuid:workflow_id>/presence/", "- 404 422 422 422 -", DRAFT, {}),
    Row("GET", "workflows/<uuid:workflow_id>/comments/", "- 404 200 200 200 -", DRAFT),
    Row("POST", "workflows/<uuid:workflow_id>/comments/", "- 404 200 200 200 -", DRAFT, SAID),
    Row("POST", "workflows/<uuid:workflow_id>/comments/", "- 404 404 404 404 -", TALK, SAID),
    Row("POST", "workflows/<uuid:workflow_id>/comments/<uuid:comment_id>/", "- 404 404 404 404 -", {**DRAFT, **COMMENT}, {"act": "delete"}),
]  # fmt: skip
