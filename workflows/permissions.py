"""Permissions for workflows, runs, conversations and the team's credentials.

They come in pairs: ``may_…`` returns whether an action is allowed, ``check_…`` raises NotAllowed with a message. The
table in ``accounts.roles`` gives each role its verbs. This module checks a verb on a row, and who a row belongs to.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Model
from django.utils.translation import gettext as _

from accounts.access import Principal, can, check, check_key
from accounts.errors import NotAllowed, NotFound
from accounts.models import Role, TeamGroup
from accounts.principals import get_key_id, get_service_account_id, get_visitor
from accounts.roles import list_roles_above
from workflows.engine.answerers import GROUP, MEMBER, ROLE
from workflows.models import Comment, Conversation, Run, RunWait, StoredFile, Workflow


if TYPE_CHECKING:
    from accounts.models import ApiKey

Predicate = Callable[[Principal, Model | UUID], bool]
Check = Callable[[Principal, Model | UUID], None]


def _build_pair(verb: str) -> tuple[Predicate, Check]:
    """Return the functions ``may_…`` and ``check_…`` for a verb without further conditions."""

    def may(principal: Principal, target: Model | UUID) -> bool:
        return can(principal, verb, target)

    def check_(principal: Principal, target: Model | UUID) -> None:
        check(principal, verb, target)

    return may, check_


# The target is a workflow.
may_view, check_view = _build_pair("workflow.view")
may_edit, check_edit = _build_pair("workflow.edit")
may_publish, check_publish = _build_pair("workflow.publish")
may_delete, check_delete = _build_pair("workflow.delete")
may_share, check_share = _build_pair("workflow.share")
may_run, check_run = _build_pair("workflow.run")
may_comment, check_comment = _build_pair("workflow.comment")
# The target is a team.
may_create, check_create = _build_pair("workflow.create")
may_arrange, check_arrange = _build_pair("workflow.edit")  # create, rename, move and delete folders
may_create_task, check_create_task = _build_pair("workflow.run")
may_upload, check_upload = _build_pair("workflow.run")  # a file for any workflow
may_view_credentials, check_view_credentials = _build_pair("credential.view")
may_view_usage, check_view_usage = _build_pair("usage.view")
# The target is a credential, a model provider or a team.
may_manage, check_manage = _build_pair("credential.manage")


def may_start_draft(principal: Principal, workflow: Workflow) -> bool:
    """Return whether the principal may start runs of the draft, with mocks or as a debug run: editors and keys may."""
    return can(principal, "workflow.run", workflow) and (
        principal.kind == "key" or can(principal, "workflow.edit", workflow)
    )


def check_start_draft(principal: Principal, workflow: Workflow) -> None:
    check(principal, "workflow.run", workflow)
    if not may_start_draft(principal, workflow):
        raise NotAllowed(_("Only editors can run a draft, with mocks or as a debug run."))


def may_start(principal: Principal, workflow: Workflow) -> bool:
    """Return whether the principal may start what a page runs for it: what is published, or the draft if nothing is."""
    if workflow.published_version_id is None:
        return may_start_draft(principal, workflow)
    return can(principal, "workflow.run", workflow)


def check_start(principal: Principal, workflow: Workflow) -> None:
    check(principal, "workflow.run", workflow)
    if workflow.published_version_id is None:
        check_start_draft(principal, workflow)


def may_run_again(principal: Principal, run: Run) -> bool:
    """Return whether the principal may start what ran: the draft, or what is published."""
    is_of_draft = run.version_id is None
    return (may_start_draft if is_of_draft else may_start)(principal, run.workflow)


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


def check_view_secrets(principal: Principal, workflow: Workflow) -> None:
    """Check the permission to read secret values, which no API key has: it may replace credentials, but not read them."""
    check_view(principal, workflow)
    if principal.kind == "key":
        check_key(principal, None)
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


def may_delete_run(principal: Principal, run: Run) -> bool:
    return may_view_run(principal, run) and can(principal, "run.delete", run)


def check_delete_run(principal: Principal, run: Run) -> None:
    check_view_run(principal, run)
    check(principal, "run.delete", run)


def check_view_file(principal: Principal, file: StoredFile) -> None:
    check(principal, "run.view", file)
    if not is_own(principal, file):
        raise NotAllowed


def check_delete_file(principal: Principal, file: StoredFile) -> None:
    check_view_file(principal, file)
    check(principal, "run.delete", file)


def may_answer(principal: Principal, run: Run) -> bool:
    return may_view_run(principal, run) and can(principal, "workflow.run", run)


def check_answer(principal: Principal, run: Run) -> None:
    """Check the permission to go on with a run, by an answer or after it was parked, which a read-only API key lacks."""
    check_view_run(principal, run)
    check(principal, "workflow.run", run)


def list_answerer_keys(principal: Principal, team_id: UUID) -> list[str]:
    """Return the keys under which a question asks this person: the person, their groups, and their role or a lower one."""
    role = principal.get_role(team_id)
    if principal.kind != "user" or role is None:
        return []
    groups = TeamGroup.objects.visible_to(principal).filter(
        team_id=team_id, group__user=principal.user_id
    )
    return [
        f"{MEMBER}{principal.user_id}",
        *(f"{GROUP}{group_id}" for group_id in groups.values_list("pk", flat=True)),
        *(f"{ROLE}{each.value}" for each in Role if role in list_roles_above(each)),
    ]


def may_answer_question(principal: Principal, wait: RunWait) -> bool:
    """Return whether the question asks the principal: by name, group or role, or as one of the run's own people."""
    if not can(principal, "workflow.run", wait.run):
        return False
    if wait.admits_runner and may_view_run(principal, wait.run):
        return True
    keys = list_answerer_keys(principal, wait.team_id) if wait.answerers else ()
    return not set(wait.answerers).isdisjoint(keys)


def check_answer_question(principal: Principal, wait: RunWait) -> None:
    """Check the permission to answer. The question doesn't exist for those whom it doesn't ask."""
    if may_answer_question(principal, wait):
        return
    if wait.admits_runner:
        check_answer(principal, wait.run)
    raise NotFound


def check_view_conversation(principal: Principal, conversation: Conversation) -> None:
    check(principal, "run.view", conversation)
    if not is_own(principal, conversation):
        raise NotAllowed


def check_change_conversation(principal: Principal, conversation: Conversation) -> None:
    """Check the permission to rename or archive the conversation, which a read-only API key lacks."""
    check_view_conversation(principal, conversation)
    check(principal, "workflow.run", conversation)


def _is_of_service_account(row: Run | Conversation | StoredFile, principal: Principal) -> bool:
    """Return whether the row was started with a key of the principal's service account."""
    if row.api_key_id is not None and row.api_key_id == get_key_id(principal):
        return True
    key: ApiKey | None = row.api_key
    return key is not None and key.service_account_id == get_service_account_id(principal)


def is_own(principal: Principal, row: Run | Conversation | StoredFile) -> bool:
    """Return whether the row is the principal's, as ``models.personal.match_own`` does; a test compares them."""
    if principal.kind == "key":
        visitor = get_visitor(principal)
        return visitor in ("", row.subject) and _is_of_service_account(row, principal)
    if principal.user_id is None:
        return False
    key: ApiKey | None = row.api_key
    people = (row.started_by_id, row.subject_user_id, key.created_by_id if key else None)
    return principal.user_id in people
