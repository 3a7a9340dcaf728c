"""The audit trail. Rows name no other row, so that nothing can be deleted around them; the database writes the chain."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import groupby
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models.persons import hide_persons
from accounts.tenancy import TenantManager, after_failing, at_the_end, current_team_ids, tenant
from config.ids import uuid7


GENESIS = "0" * 64
LONGEST_SUBJECT = 300
LONGEST_WHY = 300

log = structlog.get_logger(__name__)


class AuditEntry(models.Model):
    """Something somebody did or was refused. Sequence, time and hashes are set by a trigger, whatever is sent."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team_id = models.UUIDField(editable=False)
    seq = models.BigIntegerField(default=0, editable=False)
    at = models.DateTimeField(_("when"), default=timezone.now, editable=False)
    actor_kind = models.CharField(_("kind of actor"), max_length=10, editable=False)
    actor = models.CharField(_("actor"), max_length=120, editable=False)
    action = models.CharField(_("action"), max_length=60, editable=False)
    subject = models.CharField(_("subject"), max_length=LONGEST_SUBJECT, editable=False)
    detail = models.JSONField(_("detail"), default=dict, editable=False)
    success = models.BooleanField(_("done"), default=True, editable=False)
    prev_hash = models.CharField(max_length=64, default="", editable=False)
    hash = models.CharField(max_length=64, default="", editable=False)

    is_hidden = False  # whether pseudonyms stand in it already

    _unscoped = models.Manager()
    objects = TenantManager()

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit trail")
        ordering = ("team_id", "-seq")
        constraints = (
            models.UniqueConstraint(fields=("team_id", "seq"), name="accounts_auditentry_seq"),
        )
        # What a page of the trail is asked by.
        indexes = (
            models.Index(fields=("team_id", "subject", "-seq"), name="accounts_audit_subject"),
            models.Index(fields=("team_id", "actor", "-seq"), name="accounts_audit_actor"),
            models.Index(fields=("team_id", "action", "-seq"), name="accounts_audit_action"),
            models.Index(
                "team_id",
                KeyTextTransform("run", "detail"),
                F("seq").desc(),
                condition=Q(detail__has_key="run"),
                name="accounts_audit_run",
            ),
            models.Index(
                fields=("team_id", "-seq"),
                condition=Q(success=False),
                name="accounts_audit_refused",
            ),
            models.Index(fields=("team_id", "at", "seq"), name="accounts_audit_when"),
        )

    def __str__(self) -> str:
        return f"{self.seq} {self.actor} {self.action} {self.subject}"


class AuditHead(models.Model):
    """The newest link of each team's chain; its row lock is what puts a team's entries in line."""

    team_id = models.UUIDField(primary_key=True, editable=False)
    seq = models.BigIntegerField(default=0, editable=False)
    hash = models.CharField(max_length=64, default=GENESIS, editable=False)

    _unscoped = models.Manager()
    objects = TenantManager()

    class Meta:
        verbose_name = _("head of the audit trail")
        verbose_name_plural = _("heads of the audit trails")
        ordering = ("team_id",)

    def __str__(self) -> str:
        return f"{self.team_id}: {self.seq}"


class _Noted:
    """An entry that is written when its transaction ends. Waits among what Django does after the commit, which a
    rollback to a savepoint forgets and which nobody else has to keep in step."""

    def __init__(self, entry: AuditEntry) -> None:
        self.entry = entry

    def __call__(self) -> None:
        """Nothing is left to do: it is written before the commit."""


def note(entry: AuditEntry) -> None:
    """To be written last, when the outermost ``tenant`` ends; called within one.

    The head of a team's chain is the one lock that everybody takes. Taken last it is held for a moment, and nobody
    who holds it waits for anything else: docs/adr/0009-one-order-of-locks.md.
    """
    if entry.success:
        transaction.on_commit(_Noted(entry))
        return
    # Of no savepoint: what was refused stays noted when those around it go back to where they began.
    connection.run_on_commit.append((set(), _Noted(entry), False))  # type: ignore[arg-type]  # Django's own form


def write_noted() -> None:
    """All that was noted so far, in its order; of several teams one after the other, always in the same order."""
    waiting = _noted()
    if not waiting:
        return
    _forget_noted()
    entries = sorted((one.entry for one in waiting), key=_team)
    for team_id, of_team in groupby(entries, key=_team):
        if team_id in current_team_ids():
            _write(team_id, list(of_team))
            continue
        with tenant([team_id]):
            _write(team_id, list(of_team))


def rescue_refusals() -> Callable[[], None]:
    """What was refused in a transaction that is about to be rolled back, to be noted in one of its own."""
    refused = [one.entry for one in _noted() if not one.entry.success]
    _forget_noted()

    return lambda: _note_anew(refused)


def hide_noted(team_id: UUID) -> None:
    """Of a team, what waits to be written gets its pseudonyms now: of people whose keys are about to go."""
    _hide(team_id, [one.entry for one in _noted() if one.entry.team_id == team_id])


def _note_anew(refused: list[AuditEntry]) -> None:
    if not refused:
        return
    try:
        with tenant({one.team_id for one in refused}):
            for one in refused:
                note(one)
    except (
        DatabaseError
    ):  # why it was rolled back is worth more than this, and must not be hidden by it
        log.exception("refusals_not_written", entries=len(refused))


def _noted() -> list[_Noted]:
    return [one[1] for one in connection.run_on_commit if isinstance(one[1], _Noted)]


def _forget_noted() -> None:
    connection.run_on_commit = [
        one for one in connection.run_on_commit if not isinstance(one[1], _Noted)
    ]


def _write(team_id: UUID, entries: list[AuditEntry]) -> None:
    _hide(team_id, entries)
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, [json.dumps([_columns(one) for one in entries])])


def _columns(entry: AuditEntry) -> dict[str, object]:
    plain = {"id": str(entry.pk), "team_id": str(entry.team_id), "at": entry.at.isoformat()}
    return {**{name: getattr(entry, name) for name in _COLUMNS}, **plain}


_COLUMNS = [field.attname for field in AuditEntry._meta.concrete_fields]
# Every operation ends with it, so it isn't composed anew each time; columns go by their names in JSON.
_WRITE = """
    INSERT INTO "accounts_auditentry"
    SELECT * FROM jsonb_populate_recordset(NULL::accounts_auditentry, %s::jsonb)
""".strip()


def _hide(team_id: UUID, entries: list[AuditEntry]) -> None:
    """The one place where ids turn into pseudonyms: nothing reaches the table but through here.

    Only now, not when it was noted: a key made before a rollback would be gone, and what was refused stays.
    """
    fresh = [one for one in entries if not one.is_hidden]
    hide_persons(team_id, fresh)
    for one in fresh:
        one.subject, one.is_hidden = one.subject[:LONGEST_SUBJECT], True
        if isinstance(why := one.detail.get("why"), str):
            one.detail["why"] = why[:LONGEST_WHY]


def _team(entry: AuditEntry) -> UUID:
    return entry.team_id


at_the_end(write_noted)
after_failing(rescue_refusals)
