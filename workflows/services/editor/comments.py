"""Comments: threads at a node or at the whole workflow, read and written.

Commenting is looking aloud, so who may see a workflow may comment on it. Everything that changes a
comment is told to the tabs that have the workflow open, after the commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
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
from workflows.models.comments import LONGEST_COMMENT
from workflows.services.audit_lines import note


LONGEST_NODE = 255


@dataclass(frozen=True, slots=True)
class Thread:
    """A comment and its answers. A deleted first one stands empty as long as it has answers."""

    first: Comment
    answers: tuple[Comment, ...]

    @property
    def is_resolved(self) -> bool:
        return self.first.is_resolved

    @property
    def count(self) -> int:
        return sum(not row.is_deleted for row in (self.first, *self.answers))


def threads_of(
    principal: Principal, workflow: Workflow, *, node: str | None = None
) -> list[Thread]:
    """Oldest first; ``node`` narrows it to one, "" to what is said of the workflow itself."""
    permissions.check_view(principal, workflow)
    rows = Comment.objects.visible_to(principal).filter(workflow=workflow)
    if node is not None:
        rows = rows.filter(node=node)
    return _threads(list(rows.order_by("created_at", "id")))


def comment_for(principal: Principal, comment_id: UUID) -> Comment:
    found = (
        Comment.objects.visible_to(principal)
        .select_related("workflow", "thread")
        .filter(pk=comment_id, deleted_at=None)
        .first()
    )
    if found is None:
        raise NotFound
    permissions.check_view(principal, found.workflow)
    return found


def open_counts(threads: Sequence[Thread]) -> dict[str, int]:
    """Node → how many comments stand in threads that aren't resolved."""
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
    """An answer stands at its thread's node, whatever was asked for; answering reopens nothing."""
    permissions.check_comment(principal, workflow)
    text = _text(body)
    first = (answers.thread or answers) if answers else None
    if first is not None and first.workflow_id != workflow.pk:
        raise NotFound
    if workflow.is_archived:
        raise WorkflowArchived
    with tenant([workflow.team_id]):
        made = Comment.objects.create(
            team_id=workflow.team_id,
            workflow=workflow,
            thread=first,
            node=first.node if first else _node(node),
            actor=principal.actor,
            author_id=principal.user_id if isinstance(principal, UserPrincipal) else None,
            author_name=name_of(principal),
            body=text,
            mentions=_mentioned(workflow.team_id, text),
        )
        _tell(made, "created")
        note(principal, made, "comment.created", workflow=str(workflow.pk), node=made.node)
    return made


def change(principal: Principal, *, comment: Comment, body: str) -> Comment:
    permissions.check_change_comment(principal, comment)
    text = _text(body)
    if text == comment.body:
        return comment
    with tenant([comment.team_id]):
        comment.body, comment.edited_at = text, timezone.now()
        comment.mentions = _mentioned(comment.team_id, text)
        comment.save(update_fields=["body", "mentions", "edited_at", "changed_at"])
        _tell(comment, "changed")
        note(principal, comment, "comment.changed")
    return comment


def delete(principal: Principal, *, comment: Comment) -> None:
    """The words are gone at once; the row keeps the place of those that others answered."""
    permissions.check_delete_comment(principal, comment)
    with tenant([comment.team_id]):
        comment.body, comment.deleted_at, comment.mentions = "", timezone.now(), []
        comment.save(update_fields=["body", "deleted_at", "mentions", "changed_at"])
        _tell(comment, "deleted")
        note(principal, comment, "comment.deleted")


def resolve(principal: Principal, *, comment: Comment, resolved: bool = True) -> Comment:
    """A thread as a whole, whichever of its comments is named."""
    first = comment.thread or comment
    permissions.check_resolve_comment(principal, first)
    if first.is_resolved == resolved:
        return first
    with tenant([first.team_id]):
        first.resolved_at = timezone.now() if resolved else None
        first.resolved_by = name_of(principal) if resolved else ""
        first.save(update_fields=["resolved_at", "resolved_by", "changed_at"])
        _tell(first, "resolved" if resolved else "reopened")
        note(principal, first, "comment.resolved" if resolved else "comment.reopened")
    return first


def people_to_mention(principal: Principal, workflow: Workflow) -> list[str]:
    """Names of the team's members, for ``@``."""
    permissions.check_view(principal, workflow)
    return sorted({_mention(user) for user in _members(workflow.team_id)}, key=str.casefold)


def name_of(principal: Principal) -> str:
    if isinstance(principal, UserPrincipal):
        return principal.user.name or principal.user.get_short_name()
    if isinstance(principal, KeyPrincipal):
        return principal.key.name
    return principal.actor


def _threads(rows: list[Comment]) -> list[Thread]:
    answers: dict[UUID, list[Comment]] = {}
    for row in rows:
        if row.thread_id is not None and not row.is_deleted:
            answers.setdefault(row.thread_id, []).append(row)
    threads = [Thread(row, tuple(answers.get(row.pk, ()))) for row in rows if row.thread_id is None]
    return [thread for thread in threads if thread.count]


def _text(body: str) -> str:
    text = body.replace("\x00", "").replace("\r\n", "\n").strip()
    if not text:
        raise InvalidValue(_("Enter a comment first."), field="body")
    if len(text) > LONGEST_COMMENT:
        raise InvalidValue(_("A comment can have at most 10,000 characters."), field="body")
    return text


def _node(key: str) -> str:
    """It needn't exist (any more): a comment outlives its node until undo brings that back."""
    if len(key) > LONGEST_NODE or "\x00" in key:
        raise InvalidValue(_("There is no node with this ID."), field="node")
    return key


def _mentioned(team_id: UUID, text: str) -> list[UUID]:
    return [user.pk for user in _members(team_id) if f"@{_mention(user)}" in text]


def _mention(user: User) -> str:
    return user.name or user.get_short_name()


def _members(team_id: UUID) -> list[User]:
    found = User.objects.filter(memberships__team_id=team_id, is_active=True)
    return list(found.order_by("name", "id"))


def _tell(comment: Comment, what: str) -> None:
    told = {
        "id": str(comment.pk),
        "node": comment.node,
        "what": what,
        "by": comment.author_name,
        "mentions": [str(user_id) for user_id in comment.mentions],
    }
    transaction.on_commit(lambda: announce_comment(comment.workflow_id, told))
