"""Routes of a workflow's comments."""

import datetime as dt
from typing import Annotated
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema, Status
from ninja.pagination import paginate
from pydantic import Field

from accounts.http.auth import api_auth
from accounts.principals import get_principal
from config.http.openapi import Body, with_example
from config.http.pages import Pages
from workflows.api.request_context import find_workflow
from workflows.models import Comment
from workflows.models.comments import MAX_COMMENT_LENGTH
from workflows.services.editor import comments


router = Router(auth=api_auth(), tags=["workflows"])

Text = Annotated[str, Field(min_length=1, max_length=MAX_COMMENT_LENGTH)]


class CommentIn(Body):
    """A comment on the node with the id ``node``, or on the workflow; ``answers`` is the id of a comment to reply to."""

    model_config = with_example(body="Is this still right?", node="answer")

    body: Text
    node: Annotated[str, Field(max_length=255)] = ""
    answers: UUID | None = None


class CommentChangeIn(Body):
    """Fields that are left out keep their value. ``resolved`` applies to the whole thread."""

    model_config = with_example(resolved=True)

    body: Text | None = None
    resolved: bool | None = None


class CommentOut(Schema):
    id: UUID
    thread: UUID
    node: str
    author: str = Field(validation_alias="author_name")
    author_id: UUID | None
    body: str
    mentions: list[UUID]
    created_at: dt.datetime
    edited_at: dt.datetime | None
    deleted: bool = Field(validation_alias="is_deleted")

    @staticmethod
    def resolve_thread(row: Comment) -> UUID:
        return row.thread_id or row.pk


class ThreadOut(Schema):
    node: str
    resolved: bool
    resolved_by: str
    comments: list[CommentOut]


@router.get(
    "/workflows/{uuid:workflow_id}/comments", response=list[ThreadOut], summary="List comments"
)
@paginate(Pages)
def list_comments(
    request: HttpRequest, workflow_id: UUID, node: str | None = None, resolved: bool | None = None
) -> list[dict[str, object]]:
    """Return the comments by thread, oldest first. Everybody who may see the workflow may read them."""
    principal, workflow = find_workflow(request, workflow_id)
    threads = comments.list_threads(principal, workflow, node=node)
    return [
        {
            "node": thread.first.node,
            "resolved": thread.is_resolved,
            "resolved_by": thread.first.resolved_by,
            "comments": [thread.first, *thread.answers],
        }
        for thread in threads
        if resolved is None or thread.is_resolved == resolved
    ]


@router.post(
    "/workflows/{uuid:workflow_id}/comments", response={201: CommentOut}, summary="Write a comment"
)
def write_comment(request: HttpRequest, workflow_id: UUID, body: CommentIn) -> Status[Comment]:
    """Write a comment, with basic Markdown; ``@name`` mentions a member of the team."""
    principal, workflow = find_workflow(request, workflow_id)
    answers = comments.get_comment(principal, body.answers) if body.answers else None
    comment = comments.write(
        principal, workflow=workflow, body=body.body, node=body.node, answers=answers
    )
    return Status(201, comment)


@router.patch(
    "/comments/{uuid:comment_id}", response=CommentOut, summary="Edit, resolve or reopen a comment"
)
def change_comment(request: HttpRequest, comment_id: UUID, body: CommentChangeIn) -> Comment:
    """Edit your own comment, or resolve or reopen its thread as its author or as an editor."""
    principal = get_principal(request)
    comment = comments.get_comment(principal, comment_id)
    if body.body is not None:
        comment = comments.change(principal, comment=comment, body=body.body)
    if body.resolved is not None:
        comments.resolve(principal, comment=comment, resolved=body.resolved)
    return comment


@router.delete("/comments/{uuid:comment_id}", response={204: None}, summary="Delete a comment")
def delete_comment(request: HttpRequest, comment_id: UUID) -> Status[None]:
    """Delete your own comment, or any comment if you may manage members. The text can't be restored."""
    principal = get_principal(request)
    comments.delete(principal, comment=comments.get_comment(principal, comment_id))
    return Status(204, None)
