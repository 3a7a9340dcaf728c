"""Comment threads on a node or on the whole workflow.

Every principal who may see a workflow may comment on it. Each change of a comment is announced after the
commit to the tabs that have the workflow open.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.errors import NotFound
from accounts.models import User
from accounts.principals import KeyPrincipal, UserPrincipal
from accounts.tenancy import tenant
from workflows import permissions
from workflows.errors import InvalidValue, WorkflowArchived
from workflows.live.announce import announce_comment
from workflows.models import Comment, Workflow
from workflows.models.comments import MAX_COMMENT_LENGTH
from workflows.services import audit_lines


MAX_NODE_ID_LENGTH = 255


@dataclass(frozen=True, slots=True)
class Thread:
    """A comment and its answers. A deleted first comment stays, empty, as long as it has answers."""

    first: Comment
    answers: tuple[Comment, ...]

    @property
    def is_resolved(self) -> bool:
        return self.first.is_resolved

    @property
    def count(self) -> int:
        return sum(not row.is_deleted for row in (self.first, *self.answers))


def list_threads(
    principal: Principal, workflow: Workflow, *, node: str | None = None
) -> list[Thread]:
    """Return the threads, oldest first: all of them, those on one ``node``, or for "" those on the whole workflow."""
    permissions.check_view(principal, workflow)
    rows = Comment.objects.visible_to(principal).filter(workflow=workflow)
    if node is not None:
        rows = rows.filter(node=node)
    return _build_threads(list(rows.order_by("created_at", "id")))


def get_comment(principal: Principal, comment_id: UUID) -> Comment:
    """Return a comment that the principal may see; raises NotFound if it doesn't exist or is deleted."""
    comment = (
        Comment.objects.visible_to(principal)
        .select_related("workflow", "thread")
        .filter(pk=comment_id, deleted_at=None)
        .first()
    )
    if comment is None:
        raise NotFound
    permissions.check_view(principal, comment.workflow)
    return comment


def count_open(threads: Sequence[Thread]) -> dict[str, int]:
    """Return the number of comments in unresolved threads for each node."""
    counts: dict[str, int] = {}
    for thread in threads:
        if not thread.is_resolved:
            counts[thread.first.node] = counts.get(thread.first.node, 0) + thread.count
    return counts


def write(
    principal: Principal,
    *,
    workflow: Workflow,
    body: str,
    node: str = "",
    answers: Comment | None = None,
) -> Comment:
    """Write a comment on ``node``, or with ``answers`` an answer in that comment's thread, without reopening it."""
    permissions.check_comment(principal, workflow)
    text = _clean_text(body)
    first = (answers.thread or answers) if answers else None
    if first is not None and first.workflow_id != workflow.pk:
        raise NotFound
    if workflow.is_archived:
        raise WorkflowArchived
    with tenant([workflow.team_id]):
        comment = Comment.objects.create(
            team_id=workflow.team_id,
            workflow=workflow,
            thread=first,
            node=first.node if first else _clean_node_id(node),
            actor=principal.actor,
            author_id=principal.user_id if isinstance(principal, UserPrincipal) else None,
            author_name=get_author_name(principal),
            body=text,
            mentions=_find_mentioned_ids(workflow.team_id, text),
        )
        _announce(comment, "created")
        audit_lines.record(
            principal, comment, "comment.created", workflow=str(workflow.pk), node=comment.node
        )
    return comment


def change(principal: Principal, *, comment: Comment, body: str) -> Comment:
    """Change a comment's text and mentions; an equal text changes nothing."""
    permissions.check_change_comment(principal, comment)
    text = _clean_text(body)
    if text == comment.body:
        return comment
    with tenant([comment.team_id]):
        comment.body, comment.edited_at = text, timezone.now()
        comment.mentions = _find_mentioned_ids(comment.team_id, text)
        comment.save(update_fields=["body", "mentions", "edited_at", "changed_at"])
        _announce(comment, "changed")
        audit_lines.record(principal, comment, "comment.changed")
    return comment


def delete(principal: Principal, *, comment: Comment) -> None:
    """Delete a comment's text and mentions. The row stays, because it may have answers."""
    permissions.check_delete_comment(principal, comment)
    with tenant([comment.team_id]):
        comment.body, comment.deleted_at, comment.mentions = "", timezone.now(), []
        comment.save(update_fields=["body", "deleted_at", "mentions", "changed_at"])
        _announce(comment, "deleted")
        audit_lines.record(principal, comment, "comment.deleted")


def resolve(principal: Principal, *, comment: Comment, resolved: bool = True) -> Comment:
    """Resolve the comment's thread, or reopen it if ``resolved`` is false. Return the thread's first comment."""
    first = comment.thread or comment
    permissions.check_resolve_comment(principal, first)
    if first.is_resolved == resolved:
        return first
    with tenant([first.team_id]):
        first.resolved_at = timezone.now() if resolved else None
        first.resolved_by = get_author_name(principal) if resolved else ""
        first.save(update_fields=["resolved_at", "resolved_by", "changed_at"])
        _announce(first, "resolved" if resolved else "reopened")
        audit_lines.record(principal, first, "comment.resolved" if resolved else "comment.reopened")
    return first


def list_mentionable_names(principal: Principal, workflow: Workflow) -> list[str]:
    """Return the names by which comments can mention the team's members with ``@``."""
    permissions.check_view(principal, workflow)
    return sorted(
        {_get_mention_name(user) for user in _list_members(workflow.team_id)}, key=str.casefold
    )


def list_open_mentions(principal: Principal, *, team_id: UUID | None = None) -> QuerySet[Comment]:
    """Return the comments of others that mention the person in open threads, newest first.

    A mention is done when its thread is resolved, or when the person answers in it.
    """
    teams = principal.team_ids if team_id is None else {team_id} & principal.team_ids
    comments = Comment.objects.visible_to(principal).filter(team_id__in=teams, deleted_at=None)
    answers = comments.filter(
        author_id=principal.user_id,
        thread_id=OuterRef("first_id"),
        created_at__gt=OuterRef("created_at"),
    )
    return (
        comments.annotate(first_id=Coalesce("thread_id", "id"))
        .filter(
            ~Exists(answers),
            mentions__contains=[principal.user_id],
            resolved_at=None,
            thread__resolved_at=None,
            workflow__archived_at=None,
        )
        .exclude(author_id=principal.user_id)
        .select_related("workflow")
        .order_by("-created_at", "-id")
    )


def get_author_name(principal: Principal) -> str:
    if isinstance(principal, UserPrincipal):
        return principal.user.name or principal.user.get_short_name()
    if isinstance(principal, KeyPrincipal):
        return principal.key.name
    return principal.actor


def _build_threads(rows: list[Comment]) -> list[Thread]:
    answers: dict[UUID, list[Comment]] = {}
    for row in rows:
        if row.thread_id is not None and not row.is_deleted:
            answers.setdefault(row.thread_id, []).append(row)
    threads = [Thread(row, tuple(answers.get(row.pk, ()))) for row in rows if row.thread_id is None]
    return [thread for thread in threads if thread.count]


def _clean_text(body: str) -> str:
    text = body.replace("\x00", "").replace("\r\n", "\n").strip()
    if not text:
        raise InvalidValue(_("Enter a comment first."), field="body")
    if len(text) > MAX_COMMENT_LENGTH:
        raise InvalidValue(_("A comment can have at most 10,000 characters."), field="body")
    return text


def _clean_node_id(key: str) -> str:
    """Check only the form of the id, because the comments of a deleted node are kept in case undo restores it."""
    if len(key) > MAX_NODE_ID_LENGTH or "\x00" in key:
        raise InvalidValue(_("There is no node with this ID."), field="node")
    return key


def _find_mentioned_ids(team_id: UUID, text: str) -> list[UUID]:
    return [user.pk for user in _list_members(team_id) if f"@{_get_mention_name(user)}" in text]


def _get_mention_name(user: User) -> str:
    return user.name or user.get_short_name()


def _list_members(team_id: UUID) -> list[User]:
    users = User.objects.filter(memberships__team_id=team_id, is_active=True)
    return list(users.order_by("name", "id"))


def _announce(comment: Comment, action: str) -> None:
    message = {
        "id": str(comment.pk),
        "node": comment.node,
        "what": action,
        "by": comment.author_name,
        "mentions": [str(user_id) for user_id in comment.mentions],
    }
    transaction.on_commit(lambda: announce_comment(comment.workflow_id, message))
