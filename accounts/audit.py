"""The audit trail of each team: it records every action and every refusal. The database numbers and chains the entries;
see accounts/sql/audit.sql.

The chain reveals a changed, missing or inserted entry. The removal of the newest entries can only be found with a
head that was stored elsewhere: every ``verify`` returns the head, and it is logged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

import structlog
from django.db import connection
from django.db.models.fields.json import KeyTextTransform
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models.audit import (
    GENESIS,
    AuditEntry,
    AuditHead,
    pseudonymize_pending,
    queue_entry,
    write_pending,
)
from accounts.models.persons import AuditPerson, find_pseudonyms, make_unlinked_pseudonym
from accounts.personas import find_player
from accounts.principals import Principal
from accounts.pseudonyms import find_external_ids, list_pseudonyms, replace_ids, substitute_names
from accounts.tenancy import HasTeams, get_current_team_ids, tenant
from config.sql import read_queries


QUERIES: Final = read_queries("accounts/sql/queries/audit.sql")

ActorKind = Literal["user", "key", "run", "system"]

log = structlog.get_logger(__name__)

# The actions and their wording.
AUDIT_ACTIONS: dict[str, Promise] = {
    "team.created": _("created the team"),
    "team.renamed": _("renamed the team"),
    "team.limits_changed": _("changed the limits of the team"),
    "member.added": _("became a member"),
    "member.role_changed": _("changed a member's role"),
    "member.removed": _("removed a member"),
    "member.left": _("left the team"),
    "invitation.created": _("invited a teammate"),
    "invitation.accepted": _("accepted an invitation"),
    "invitation.revoked": _("revoked an invitation"),
    "group.created": _("created a group"),
    "group.deleted": _("deleted a group"),
    "group.member_added": _("added a member to a group"),
    "group.member_removed": _("removed a member from a group"),
    "key.issued": _("created an API key"),
    "key.rotated": _("replaced an API key by a new one"),
    "key.limits_changed": _("changed the limits of an API key"),
    "key.history_changed": _("changed who keeps the conversations of an API key"),
    "key.revoked": _("revoked an API key"),
    "access.granted": _("granted access"),
    "access.revoked": _("revoked access"),
    "access.refused": _("was denied"),
    "signin.start_token": _("signed in with a one-time link"),
    "workflow.created": _("created a workflow"),
    "workflow.imported": _("imported a workflow"),
    "workflow.changed": _("edited a workflow"),
    "workflow.tool_changed": _("changed whether a workflow is a tool"),
    "workflow.page_changed": _("changed the public page of a workflow"),
    "workflow.published": _("published a workflow"),
    "workflow.numbered": _("saved a version of a workflow"),
    "workflow.exported": _("exported a workflow"),
    "workflow.deleted": _("archived a workflow"),
    "workflow.restored": _("restored a workflow"),
    "workflow.retention_changed": _("changed how long runs are stored"),
    "workflow.moved": _("moved a workflow"),
    "folder.created": _("created a folder"),
    "folder.renamed": _("renamed a folder"),
    "folder.moved": _("moved a folder"),
    "folder.deleted": _("deleted a folder"),
    "comment.created": _("wrote a comment"),
    "comment.changed": _("edited a comment"),
    "comment.deleted": _("deleted a comment"),
    "comment.resolved": _("resolved a comment"),
    "comment.reopened": _("reopened a comment"),
    "usage.exported": _("exported usage"),
    "run.started": _("started a run"),
    "run.cancelled": _("stopped a run"),
    "trigger.switched": _("turned a trigger on or off"),
    "trigger.address_replaced": _("replaced the address of a webhook"),
    "trigger.subscribed": _("subscribed to ended runs"),
    "trigger.subscription_switched": _("turned a subscription on or off"),
    "trigger.unsubscribed": _("ended a subscription"),
    "trigger.secret_replaced": _("replaced the secret of a webhook"),
    "run.deleted": _("deleted a run"),
    "run.resumed": _("resumed a run"),
    "run.continued": _("continued a run that was given up"),
    "run.answered": _("answered a question of a run"),
    "run.question_mailed": _("mailed a question of a run"),
    "run.question_reminded": _("reminded of a question of a run"),
    "run.question_escalated": _("let more people answer a question of a run"),
    "run.step_edited": _("edited the outputs of a step"),
    "run.feedback": _("gave feedback on a run"),
    "conversation.deleted": _("deleted a conversation"),
    "run.team_listed": _("listed the runs of the team"),
    "run.memory_kept": _("kept the memory changes of a dry run"),
    "run.memory_dropped": _("discarded the memory changes of a dry run"),
    "file.uploaded": _("uploaded a file"),
    "file.deleted": _("deleted a file"),
    "task.created": _("created a task"),
    "task.executed": _("ran a task"),
    "case.saved": _("saved a test case"),
    "case.deleted": _("deleted a test case"),
    "case.run": _("ran test cases"),
    "data_set.saved": _("saved a dataset"),
    "data_set.deleted": _("deleted a dataset"),
    "data_set.exported": _("exported the cases of a dataset"),
    "data_set.cases_added": _("added cases to a dataset"),
    "data_set.case_saved": _("changed a case of a dataset"),
    "data_set.case_deleted": _("deleted a case of a dataset"),
    "workflow.gate_changed": _("changed which cases must pass before publishing"),
    "data_set.evaluated": _("started an evaluation"),
    "data_set.evaluation_stopped": _("stopped an evaluation"),
    "workflow.pinned": _("pinned the output of a node"),
    "workflow.unpinned": _("unpinned the output of a node"),
    "credential.created": _("added a credential"),
    "credential.changed": _("edited a credential"),
    "credential.deleted": _("deleted a credential"),
    "credential.rotated": _("re-encrypted the credentials"),
    "tool.connected": _("connected tools"),
    "tool.refreshed": _("refreshed a tool connection"),
    "tool.changed": _("edited a tool connection"),
    "tool.tried": _("tried a tool"),
    "tool.disconnected": _("removed a tool connection"),
    "tool.signed_in": _("signed in to an MCP server"),
    "tool.signed_out": _("signed out of an MCP server"),
    "memory.recalled": _("recalled memories"),
    "memory.stored": _("stored a memory"),
    "memory.rehearsed": _("previewed a memory change"),
    "memory.named": _("named a knowledge base"),
    "memory.forgotten": _("forgot a memory"),
    "memory.restored": _("restored a memory"),
    "memory.undone": _("undid a memory change"),
    "memory.cleared": _("cleared a namespace"),
    "memory.listed": _("listed memories"),
    "memory.expired": _("removed an expired memory"),
    "memory.exported": _("exported memories"),
    "memory.shared": _("shared a namespace"),
    "memory.refused": _("was denied access to a memory"),
    "memory.policy_changed": _("changed memory quotas"),
    "memory.emergency_access_started": _("opened private memory with emergency access"),
    "memory.emergency_access_ended": _("ended emergency access"),
    "memory.emergency_access_acknowledged": _("acknowledged emergency access to their memory"),
    "memory.access_explained": _("checked who has access to a namespace"),
    "memory.looked_into": _("viewed private memory"),
    "audit.exported": _("exported the audit trail"),
}


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """The first entry that doesn't fit, with the reason."""

    seq: int
    reason: Literal["changed", "missing", "inserted", "head"]


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The result of verifying a team's chain."""

    length: int
    head: str
    broken_link: BrokenLink | None

    @property
    def intact(self) -> bool:
        return self.broken_link is None


@dataclass(frozen=True, slots=True)
class DisplayName:
    """The name of an actor or a subject, and the page where it can be found."""

    text: str
    url: str = ""


# A function of the reader, the team's id and subjects, which returns the display names of the subjects that it knows.
Namer = Callable[[HasTeams, UUID, Sequence[str]], Mapping[str, DisplayName]]
NAMERS: dict[str, Namer] = {}


def register_namer(family: str, namer: Namer) -> None:
    """Register the function that names the subjects of a family of actions, such as ``memory`` or ``run``."""
    NAMERS[family] = namer


def register_actions(actions: Mapping[str, Promise]) -> None:
    """Add an app's own actions with their wording. An app calls this in its ``AppConfig.ready``."""
    AUDIT_ACTIONS.update(actions)


def record(
    *,
    team_id: UUID,
    actor: str,
    action: str,
    subject: str,
    detail: Mapping[str, Any] | None = None,  # Any: JSON
    success: bool = True,
    actor_kind: ActorKind = "user",
    is_hidden: bool = False,
) -> None:
    """Append an entry at the end of the caller's transaction.

    An entry never holds a secret or a remembered value, only ids, sizes and outcomes. Ids of external users are
    replaced by pseudonyms when the entry is written, unless ``is_hidden`` says that this was done already.
    """
    if action not in AUDIT_ACTIONS:
        raise ValueError(f"{action!r} has no wording in AUDIT_ACTIONS")
    entry = AuditEntry(
        team_id=team_id,
        actor_kind=actor_kind,
        actor=actor,
        action=action,
        subject=subject.replace("\x00", "\ufffd"),
        detail=dict(detail or {}),
        success=success,
    )
    entry.is_hidden = is_hidden
    with nullcontext() if get_current_team_ids() else tenant([team_id]):
        queue_entry(entry)


def record_action(
    principal: Principal, team_id: UUID, action: str, subject: str, **detail: Any
) -> None:  # Any: JSON
    """Record an action of the principal; see ``record``."""
    record(
        team_id=team_id, actor=principal.actor, actor_kind=principal.kind,
        action=action, subject=subject, detail=detail,
    )  # fmt: skip


def is_recorded_for_run(team_id: UUID, *, actor: str, action: str, run: str) -> bool:
    """Return whether this actor already has an entry of this action about a run. Call it within ``tenant``."""
    rows = AuditEntry.objects.unscoped().alias(run=KeyTextTransform("run", "detail"))
    # The partial index covers only the rows with this key.
    rows = rows.filter(team_id=team_id, run=run, detail__has_key="run")
    return rows.filter(action=action, actor=actor).exists()


def list_written_forms(team_id: UUID, texts: Iterable[str]) -> dict[str, list[str]]:
    """Map each string to its possible forms in the audit trail: unchanged, as in older entries, and with pseudonyms.

    The database is queried only if a string names an external user.
    """
    subjects = list(texts)
    persons = {person for text in subjects for person in find_external_ids(text)}
    pseudonyms = find_pseudonyms(team_id, persons)
    forms = {}
    for text in subjects:
        hidden_text, _detail = replace_ids(text, {}, lambda person: pseudonyms.get(person, person))
        forms[text] = [text] if hidden_text == text else [text, hidden_text]
    return forms


def reveal(team_id: UUID, entries: Sequence[AuditEntry]) -> None:
    """Replace pseudonyms by ids for a principal who may read the audit trail. Erased persons keep their pseudonyms."""
    if not (pseudonyms := list_pseudonyms([[entry.subject, entry.detail] for entry in entries])):
        return
    rows = AuditPerson.objects.unscoped().filter(team_id=team_id, pseudonym__in=pseudonyms)
    names = dict(rows.values_list("pseudonym", "person"))
    for entry in entries:
        entry.subject, entry.detail = substitute_names([entry.subject, entry.detail], names)


def count_persons(team_id: UUID, persons: Sequence[str]) -> int:
    """Count the persons for whom the audit trail holds a key. Call it within ``tenant``."""
    return AuditPerson.objects.unscoped().filter(team_id=team_id, person__in=persons).count()


def list_personas(team_id: UUID, player: str) -> list[str]:
    """Return a member's test personas that the audit trail knows. Call it within ``tenant``."""
    rows = AuditPerson.objects.unscoped().filter(team_id=team_id, person__endswith=f"@{player}")
    persons = rows.values_list("person", flat=True)
    return [person for person in persons if str(find_player(person)) == player]


def forget_persons(team_id: UUID, persons: Sequence[str]) -> int:
    """Delete the keys of these persons, so that their pseudonyms can no longer be resolved.

    Call it within ``tenant``; the audit entries do not change.
    """
    pseudonymize_pending(team_id)
    rows = AuditPerson.objects.unscoped().filter(team_id=team_id, person__in=persons)
    return rows.delete()[0]


def anonymize(text: str) -> str:
    """Replace external users' ids by pseudonyms that identify no person, for the entry that records an erasure."""
    return replace_ids(text, {}, make_unlinked_pseudonym)[0]


def read_head(team_id: UUID) -> tuple[int, str]:
    """Return the sequence number and the hash of the newest entry, after writing this transaction's pending entries."""
    with tenant([team_id]):
        write_pending()
        row = AuditHead.objects.unscoped().filter(team_id=team_id).first()
    return (row.seq, row.hash) if row else (0, GENESIS)


def verify(team_id: UUID) -> ChainReport:
    """Recompute the whole chain of a team and name the first entry that doesn't fit."""
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(QUERIES["verify"], {"team": team_id})
        length, newest_hash, newest_seq, head_seq, head_hash, broken_seq, reason = cursor.fetchone()
    broken_link = BrokenLink(broken_seq, reason) if reason else None
    newest = (newest_seq, newest_hash) if newest_seq else (None, None)
    if broken_link is None and newest != (head_seq, head_hash):
        # The chain is shorter or longer than its head says: the newest entries were removed or inserted.
        last_seq = newest_seq or 0
        if last_seq < (head_seq or 0):
            broken_link = BrokenLink(last_seq + 1, "missing")
        else:
            broken_link = BrokenLink(last_seq, "head")
    report = ChainReport(length, newest_hash, broken_link)
    log.info(
        "audit_verified",
        team_id=str(team_id),
        length=length,
        head=newest_hash,
        intact=report.intact,
    )
    return report
