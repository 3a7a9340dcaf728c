"""Permissions for workflows, runs, conversations and the team's credentials.

They come in pairs: ``may_…`` returns whether an action is allowed, ``check_…`` raises NotAllowed with a message. The
table in ``accounts.roles`` gives each role its verbs; this module defines the rows that each verb is checked on.
"""

from typing import TYPE_CHECKING
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.access import Principal, can, check
from accounts.errors import NotAllowed
from accounts.principals import get_key_id
from workflows.models import Comment, Conversation, Credential, ModelProvider, Run, Workflow


if TYPE_CHECKING:
    from accounts.models import ApiKey


def may_create(principal: Principal, team_id: UUID) -> bool:
    return can(principal, "workflow.create", team_id)


def check_create(principal: Principal, team_id: UUID) -> None:
    check(principal, "workflow.create", team_id)


def may_arrange(principal: Principal, team_id: UUID) -> bool:
    """Return whether the principal may create, rename, move and delete the team's folders, which have no owner."""
    return can(principal, "workflow.edit", team_id)


def check_arrange(principal: Principal, team_id: UUID) -> None:
    check(principal, "workflow.edit", team_id)


def may_view(principal: Principal, workflow: Workflow) -> bool:
    return can(principal, "workflow.view", workflow)


def check_view(principal: Principal, workflow: Workflow) -> None:
    check(principal, "workflow.view", workflow)


def may_edit(principal: Principal, workflow: Workflow) -> bool:
    return can(principal, "workflow.edit", workflow)


def check_edit(principal: Principal, workflow: Workflow) -> None:
    check(principal, "workflow.edit", workflow)


def may_publish(principal: Principal, workflow: Workflow) -> bool:
    return can(principal, "workflow.publish", workflow)


def check_publish(principal: Principal, workflow: Workflow) -> None:
    check(principal, "workflow.publish", workflow)


def may_delete(principal: Principal, workflow: Workflow) -> bool:
    return can(principal, "workflow.delete", workflow)


def check_delete(principal: Principal, workflow: Workflow) -> None:
    check(principal, "workflow.delete", workflow)


def may_share(principal: Principal, workflow: Workflow) -> bool:
    return can(principal, "workflow.share", workflow)


def check_share(principal: Principal, workflow: Workflow) -> None:
    check(principal, "workflow.share", workflow)


def may_run(principal: Principal, workflow: Workflow) -> bool:
    return can(principal, "workflow.run", workflow)


def check_run(principal: Principal, workflow: Workflow) -> None:
    check(principal, "workflow.run", workflow)


def check_task(principal: Principal, team_id: UUID) -> None:
    """Check that the principal may create tasks, as any member may who can run the team's workflows."""
    check(principal, "workflow.run", team_id)


def may_comment(principal: Principal, workflow: Workflow) -> bool:
    return can(principal, "workflow.comment", workflow)


def check_comment(principal: Principal, workflow: Workflow) -> None:
    check(principal, "workflow.comment", workflow)


def may_change_comment(principal: Principal, comment: Comment) -> bool:
    """Return whether the principal may edit the comment: only its author may."""
    return comment.actor == principal.actor and can(principal, "workflow.comment", comment)


def check_change_comment(principal: Principal, comment: Comment) -> None:
    check(principal, "workflow.comment", comment)
    if not may_change_comment(principal, comment):
        raise NotAllowed(_("Only the author of a comment can edit it."))


def may_delete_comment(principal: Principal, comment: Comment) -> bool:
    """Return whether the principal may delete the comment: its author and managers of members may."""
    return may_change_comment(principal, comment) or can(principal, "member.manage", comment)


def check_delete_comment(principal: Principal, comment: Comment) -> None:
    check(principal, "workflow.comment", comment)
    if not may_delete_comment(principal, comment):
        raise NotAllowed(_("Only the author of a comment can delete it."))


def may_resolve_comment(principal: Principal, comment: Comment) -> bool:
    """Return whether the principal may resolve the thread: its author and editors may."""
    return may_change_comment(principal, comment) or can(principal, "workflow.edit", comment)


def check_resolve_comment(principal: Principal, comment: Comment) -> None:
    check(principal, "workflow.comment", comment)
    if not may_resolve_comment(principal, comment):
        raise NotAllowed(_("Only the author of a thread or an editor can resolve it."))


def check_see_secrets(principal: Principal, workflow: Workflow) -> None:
    check_view(principal, workflow)
    check(principal, "credential.manage", workflow.team_id)


def may_view_run(principal: Principal, run: Run) -> bool:
    return can(principal, "run.view", run) and is_own(principal, run)


def check_view_run(principal: Principal, run: Run) -> None:
    check(principal, "run.view", run)
    if not is_own(principal, run):
        raise NotAllowed


def may_cancel(principal: Principal, run: Run) -> bool:
    return may_view_run(principal, run) and can(principal, "run.cancel", run)


def check_cancel(principal: Principal, run: Run) -> None:
    check_view_run(principal, run)
    check(principal, "run.cancel", run)


def check_view_conversation(principal: Principal, conversation: Conversation) -> None:
    check(principal, "run.view", conversation)
    if not is_own(principal, conversation):
        raise NotAllowed


def check_rename(principal: Principal, conversation: Conversation) -> None:
    """Check the permission to continue the conversation, which a read-only API key lacks."""
    check_view_conversation(principal, conversation)
    check(principal, "workflow.run", conversation)


def may_view_credentials(principal: Principal, team_id: UUID) -> bool:
    return can(principal, "credential.view", team_id)


def check_view_credentials(principal: Principal, team_id: UUID) -> None:
    check(principal, "credential.view", team_id)


def may_manage(principal: Principal, row: Credential | ModelProvider | UUID) -> bool:
    return can(principal, "credential.manage", row)


def check_manage(principal: Principal, row: Credential | ModelProvider | UUID) -> None:
    check(principal, "credential.manage", row)


def is_own(principal: Principal, row: Run | Conversation) -> bool:
    """Return whether the row is the principal's: the one-row form of ``models.personal.match_own``;
    a test compares them.
    """
    if principal.kind == "key":
        return row.api_key_id is not None and row.api_key_id == get_key_id(principal)
    if principal.user_id is None:
        return False
    key: ApiKey | None = row.api_key
    people = (row.started_by_id, row.subject_user_id, key.created_by_id if key else None)
    return principal.user_id in people
