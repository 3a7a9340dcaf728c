"""The audit trail: who did what, or was refused. The database numbers and chains the entries; see migration 0002.

The chain finds a changed, missing or inserted entry. Cutting off the newest ones is found only by someone who kept
the head, so ``head`` is meant to be published: every ``verify`` returns it, and it is logged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
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
    hide_noted,
    note,
    write_noted,
)
from accounts.models.persons import AuditPerson, known_pseudonyms, pseudonym_of_nobody
from accounts.personas import played_by
from accounts.pseudonyms import hidden, outside_in, pseudonyms_in, revealed
from accounts.tenancy import HasTeams, current_team_ids, tenant


ActorKind = Literal["user", "key", "run", "system"]

log = structlog.get_logger(__name__)

# What an action is called, and how people read it.
AUDIT_ACTIONS: dict[str, Promise] = {
    "team.created": _("created the team"),
    "team.renamed": _("renamed the team"),
    "member.added": _("became a member"),
    "member.role_changed": _("changed a member's role"),
    "member.removed": _("removed a member"),
    "member.left": _("left the team"),
    "invitation.created": _("invited somebody"),
    "invitation.accepted": _("accepted an invitation"),
    "invitation.revoked": _("revoked an invitation"),
    "group.created": _("made a group"),
    "group.deleted": _("deleted a group"),
    "group.member_added": _("put a member into a group"),
    "group.member_removed": _("took a member out of a group"),
    "key.issued": _("created an API key"),
    "key.revoked": _("revoked an API key"),
    "access.granted": _("shared something"),
    "access.revoked": _("ended sharing"),
    "access.refused": _("was refused"),
    "signin.start_token": _("signed in with the start link"),
    "workflow.created": _("created a workflow"),
    "workflow.imported": _("imported a workflow"),
    "workflow.changed": _("changed a workflow"),
    "workflow.published": _("published a workflow"),
    "workflow.numbered": _("numbered a version of a workflow"),
    "workflow.exported": _("exported a workflow"),
    "workflow.deleted": _("deleted a workflow"),
    "workflow.restored": _("restored a workflow"),
    "workflow.moved": _("moved a workflow"),
    "folder.created": _("created a folder"),
    "folder.renamed": _("renamed a folder"),
    "folder.moved": _("moved a folder"),
    "folder.deleted": _("deleted a folder"),
    "comment.created": _("wrote a comment"),
    "comment.changed": _("changed a comment"),
    "comment.deleted": _("deleted a comment"),
    "comment.resolved": _("resolved a comment"),
    "comment.reopened": _("reopened a comment"),
    "run.started": _("started a run"),
    "run.cancelled": _("cancelled a run"),
    "run.resumed": _("let a run go on"),
    "run.step_edited": _("changed the outputs of a step"),
    "run.memory_kept": _("kept what a test run remembered"),
    "run.memory_dropped": _("dropped what a test run remembered"),
    "task.created": _("created a task"),
    "task.executed": _("executed a task"),
    "case.saved": _("wrote down a test case"),
    "case.deleted": _("deleted a test case"),
    "case.run": _("ran test cases"),
    "workflow.pinned": _("pinned the outputs of a node"),
    "workflow.unpinned": _("removed the pin of a node"),
    "credential.created": _("added a credential"),
    "credential.changed": _("changed a credential"),
    "credential.deleted": _("deleted a credential"),
    "credential.rotated": _("re-encrypted the credentials"),
    "memory.recalled": _("recalled memories"),
    "memory.stored": _("stored a memory"),
    "memory.rehearsed": _("tried out a change of memory"),
    "memory.forgotten": _("forgot a memory"),
    "memory.restored": _("restored a memory"),
    "memory.undone": _("undid a change of memory"),
    "memory.cleared": _("cleared a namespace"),
    "memory.listed": _("listed memories"),
    "memory.expired": _("let a memory expire"),
    "memory.exported": _("exported memories"),
    "memory.shared": _("shared a namespace"),
    "memory.refused": _("was refused a memory"),
    "memory.policy_changed": _("changed a memory policy"),
    "memory.glass_broken": _("opened private memory by emergency access"),
    "memory.glass_ended": _("ended emergency access"),
    "memory.glass_seen": _("saw who looked into their memory"),
    "memory.access_explained": _("asked who can see a namespace, and why"),
    "memory.looked_into": _("looked into private memory"),
    "audit.exported": _("exported the audit trail"),
}


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """The first entry that doesn't fit, and what is wrong with it."""

    seq: int
    reason: Literal["changed", "missing", "inserted", "head"]


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What verifying a team's chain found."""

    team_id: UUID
    length: int
    head: str
    broken: BrokenLink | None

    @property
    def intact(self) -> bool:
        return self.broken is None


@dataclass(frozen=True, slots=True)
class Told:
    """What an actor or a subject is called, and where it is to be found."""

    text: str
    url: str = ""


# Who reads, and what the trail names → words for those of them that one knows.
Namer = Callable[[HasTeams, UUID, Sequence[str]], Mapping[str, Told]]


def name_with(of_actions: str, namer: Namer) -> None:
    """``namer`` has the words for the subjects of actions that begin so, ``memory`` or ``run``."""
    NAMERS[of_actions] = namer


NAMERS: dict[str, Namer] = {}


def register_actions(actions: Mapping[str, Promise]) -> None:
    """An app's own actions with their wording; called from its ``apps.ready``."""
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
    """Append one entry at the end of the caller's transaction. Never a secret, never a remembered value: ids, sizes,
    outcomes. Outside people's ids turn into pseudonyms when it is written, unless that ``is_hidden`` already."""
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
    if current_team_ids():
        note(entry)
        return
    with tenant([team_id]):
        note(entry)


def has_of_run(team_id: UUID, *, actor: str, action: str, run: str) -> bool:
    """Whether this actor has an entry of this action about a run already. Within ``tenant``."""
    of_run = AuditEntry.objects.unscoped().alias(of=KeyTextTransform("run", "detail"))
    return of_run.filter(
        team_id=team_id,
        of=run,
        detail__has_key="run",  # the index holds no others
        action=action,
        actor=actor,
    ).exists()


def as_written(team_id: UUID, texts: Iterable[str]) -> dict[str, list[str]]:
    """How the trail has each: as it is, which older entries do, and with pseudonyms. Asks only if somebody is named."""
    asked = list(texts)
    known = known_pseudonyms(team_id, {one for text in asked for one in outside_in(text)})
    found = {}
    for text in asked:
        written, _detail = hidden(text, {}, lambda one: known.get(one, one))
        found[text] = [text] if written == text else [text, written]
    return found


def reveal(team_id: UUID, entries: Sequence[AuditEntry]) -> None:
    """Ids in place of pseudonyms, for who may read the trail; of somebody who was erased the pseudonym stays."""
    if not (found := pseudonyms_in([[one.subject, one.detail] for one in entries])):
        return
    rows = AuditPerson.objects.unscoped().filter(team_id=team_id, pseudonym__in=found)
    names = dict(rows.values_list("pseudonym", "person"))
    for one in entries:
        one.subject, one.detail = revealed([one.subject, one.detail], names)


def persons_known(team_id: UUID, persons: Sequence[str]) -> int:
    """How many of them the trail has a key for. Within ``tenant``."""
    return AuditPerson.objects.unscoped().filter(team_id=team_id, person__in=persons).count()


def played_by_in_trail(team_id: UUID, player: str) -> list[str]:
    """A member's test persons, as far as the trail knows them. Within ``tenant``."""
    rows = AuditPerson.objects.unscoped().filter(team_id=team_id, person__endswith=f"@{player}")
    return [one for one in rows.values_list("person", flat=True) if str(played_by(one)) == player]


def forget_persons(team_id: UUID, persons: Sequence[str]) -> int:
    """Their keys go: nobody learns any more whom the trail means. Within ``tenant``; it keeps its entries."""
    hide_noted(team_id)
    rows = AuditPerson.objects.unscoped().filter(team_id=team_id, person__in=persons)
    return rows.delete()[0]


def without_key(text: str) -> str:
    """With pseudonyms that lead to nobody, for the entry which says that a person was erased."""
    return hidden(text, {}, pseudonym_of_nobody)[0]


def head(team_id: UUID) -> tuple[int, str]:
    """Number and hash of the newest entry, what this transaction noted among them: it is written at once."""
    with tenant([team_id]):
        write_noted()
        row = AuditHead.objects.unscoped().filter(team_id=team_id).first()
    return (row.seq, row.hash) if row else (0, GENESIS)


# Every link recomputed from its own columns and its predecessor as stored; the sequence is unique and has no gaps.
_VERIFY = """
WITH chain AS (
    SELECT seq, prev_hash, hash,
           coalesce(lag(hash) OVER w, repeat('0', 64)) AS before_hash,
           coalesce(lag(seq) OVER w, 0) AS before_seq,
           encode(sha256(convert_to(jsonb_build_array(
               prev_hash, id, team_id, seq, (extract(epoch FROM at) * 1000000)::bigint,
               actor_kind, actor, action, subject, detail, success
           )::text, 'UTF8')), 'hex') AS computed
    FROM accounts_auditentry WHERE team_id = %(team)s
    WINDOW w AS (ORDER BY seq)
), broken AS (
    SELECT seq, CASE
        WHEN seq > before_seq + 1 THEN 'missing'
        WHEN computed <> hash THEN 'changed'
        WHEN prev_hash <> before_hash THEN 'inserted'
    END AS reason, before_seq
    FROM chain
    WHERE seq <> before_seq + 1 OR computed <> hash OR prev_hash <> before_hash
    ORDER BY seq LIMIT 1
), newest AS (
    SELECT seq, hash FROM chain ORDER BY seq DESC LIMIT 1
)
SELECT (SELECT count(*) FROM chain),
       coalesce((SELECT hash FROM newest), repeat('0', 64)),
       (SELECT seq FROM newest),
       (SELECT seq FROM accounts_audithead WHERE team_id = %(team)s),
       (SELECT hash FROM accounts_audithead WHERE team_id = %(team)s),
       (SELECT CASE reason WHEN 'missing' THEN before_seq + 1 ELSE seq END FROM broken),
       (SELECT reason FROM broken)
"""


def verify(team_id: UUID) -> ChainReport:
    """Recompute the whole chain of a team and name the first entry that doesn't fit."""
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(_VERIFY, {"team": team_id})
        length, newest_hash, newest_seq, head_seq, head_hash, broken_seq, reason = cursor.fetchone()
    broken = BrokenLink(broken_seq, reason) if reason else None
    if broken is None and (newest_seq, newest_hash if newest_seq else None) != (
        head_seq,
        head_hash,
    ):
        # The chain ends before (or after) where its head says: the newest entries are missing or were put there.
        missing = (newest_seq or 0) < (head_seq or 0)
        broken = BrokenLink(
            (newest_seq or 0) + 1 if missing else newest_seq or 0, "missing" if missing else "head"
        )
    report = ChainReport(team_id, length, newest_hash, broken)
    log.info(
        "audit_verified",
        team_id=str(team_id),
        length=length,
        head=newest_hash,
        intact=report.intact,
    )
    return report
