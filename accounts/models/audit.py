"""The audit trail. Its rows reference no other rows, so that deletions elsewhere can't affect them; the database
computes the chain.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from itertools import groupby
from operator import attrgetter
from typing import Final
from uuid import UUID

import structlog
from django.db import DatabaseError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models.persons import pseudonymize_entries
from accounts.tenancy import (
    TenantManager,
    get_current_team_ids,
    run_after_failure,
    run_at_end,
    tenant,
)
from config.ids import uuid7
from config.postgres.prepared import open_prepared_cursor
from config.sql import read_queries


QUERIES: Final = read_queries("accounts/sql/queries/audit.sql")

GENESIS = "0" * 64
MAX_SUBJECT_LENGTH = 300
MAX_REASON_LENGTH = 300

log = structlog.get_logger(__name__)


class AuditEntry(models.Model):
    """An action or a refusal. A trigger sets sequence, time and hashes and ignores submitted values."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team_id = models.UUIDField(editable=False)
    seq = models.BigIntegerField(default=0, editable=False)
    at = models.DateTimeField(_("time"), default=timezone.now, editable=False)
    actor_kind = models.CharField(_("actor type"), max_length=10, editable=False)
    actor = models.CharField(_("actor"), max_length=120, editable=False)
    action = models.CharField(_("action"), max_length=60, editable=False)
    subject = models.CharField(_("subject"), max_length=MAX_SUBJECT_LENGTH, editable=False)
    detail = models.JSONField(_("detail"), default=dict, editable=False)
    success = models.BooleanField(_("succeeded"), default=True, editable=False)
    prev_hash = models.CharField(max_length=64, default="", editable=False)
    hash = models.CharField(max_length=64, default="", editable=False)

    is_hidden = False  # whether pseudonyms have replaced the ids of external users

    _unscoped = models.Manager()
    objects = TenantManager()

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit trail")
        ordering = ("team_id", "-seq")
        constraints = (
            models.UniqueConstraint(fields=("team_id", "seq"), name="accounts_auditentry_seq"),
        )
        # One index for each filter of the audit trail.
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
    """The newest link of each team's chain. Its row lock serialises the writes of a team's entries."""

    team_id = models.UUIDField(primary_key=True, editable=False)
    seq = models.BigIntegerField(default=0, editable=False)
    hash = models.CharField(max_length=64, default=GENESIS, editable=False)

    _unscoped = models.Manager()
    objects = TenantManager()

    class Meta:
        verbose_name = _("audit trail head")
        verbose_name_plural = _("audit trail heads")
        ordering = ("team_id",)

    def __str__(self) -> str:
        return f"{self.team_id}: {self.seq}"


class _PendingEntry:
    """An entry that is written when its transaction ends.

    It is stored as one of Django's on-commit callbacks, which a rollback to a savepoint discards automatically.
    """

    def __init__(self, entry: AuditEntry) -> None:
        self.entry = entry

    def __call__(self) -> None:
        """Do nothing: the entry was written before the commit."""


def queue_entry(entry: AuditEntry) -> None:
    """Queue an entry, which is written when the outermost ``tenant`` ends. Call it within a ``tenant``.

    All writers of a team lock the head of its chain. They lock it last, so that the lock is held briefly and its holder
    waits for no other lock: docs/adr/0009-one-order-of-locks.md.
    """
    if entry.success:
        transaction.on_commit(_PendingEntry(entry))
        return
    # Without a savepoint id, so that a refusal is still recorded if a savepoint around it is rolled back.
    connection.run_on_commit.append((set(), _PendingEntry(entry), False))  # type: ignore[arg-type]  # Django's own form


def write_pending() -> None:
    """Write all pending entries: team by team in the order of the teams' ids, and each team's in their own order."""
    pending = _list_pending()
    if not pending:
        return
    _discard_pending()
    entries = sorted((item.entry for item in pending), key=attrgetter("team_id"))
    for team_id, team_entries in groupby(entries, key=attrgetter("team_id")):
        with nullcontext() if team_id in get_current_team_ids() else tenant([team_id]):
            _write(team_id, list(team_entries))


def rescue_refusals() -> Callable[[], None]:
    """Return a function that records this transaction's refusals again, in a new transaction after the rollback."""
    refusals = [item.entry for item in _list_pending() if not item.entry.success]
    _discard_pending()

    return lambda: _queue_again(refusals)


def pseudonymize_pending(team_id: UUID) -> None:
    """Replace ids by pseudonyms in a team's pending entries now, because the keys of these persons will be deleted."""
    entries = [item.entry for item in _list_pending() if item.entry.team_id == team_id]
    _pseudonymize(team_id, entries)


def _queue_again(refusals: list[AuditEntry]) -> None:
    if not refusals:
        return
    try:
        with tenant({entry.team_id for entry in refusals}):
            for entry in refusals:
                queue_entry(entry)
    except DatabaseError:  # this error must not hide the error that caused the rollback
        log.exception("refusals_not_written", entries=len(refusals))


def _list_pending() -> list[_PendingEntry]:
    return [row[1] for row in connection.run_on_commit if isinstance(row[1], _PendingEntry)]


def _discard_pending() -> None:
    connection.run_on_commit = [
        row for row in connection.run_on_commit if not isinstance(row[1], _PendingEntry)
    ]


def _write(team_id: UUID, entries: list[AuditEntry]) -> None:
    _pseudonymize(team_id, entries)
    with open_prepared_cursor() as cursor:
        cursor.execute(QUERIES["insert"], [json.dumps([_to_columns(entry) for entry in entries])])


def _to_columns(entry: AuditEntry) -> dict[str, object]:
    values = {name: getattr(entry, name) for name in _COLUMNS}
    strings = {"id": str(entry.pk), "team_id": str(entry.team_id), "at": entry.at.isoformat()}
    return values | strings


_COLUMNS = [field.attname for field in AuditEntry._meta.concrete_fields]


def _pseudonymize(team_id: UUID, entries: list[AuditEntry]) -> None:
    """Replace ids by pseudonyms and cut long texts. Every entry passes through this function before it is written.

    It runs at the end of the transaction, because a rollback would delete a key that was created earlier, but would
    keep the refusal that needs the key.
    """
    new_entries = [entry for entry in entries if not entry.is_hidden]
    pseudonymize_entries(team_id, new_entries)
    for entry in new_entries:
        entry.subject, entry.is_hidden = entry.subject[:MAX_SUBJECT_LENGTH], True
        if isinstance(reason := entry.detail.get("why"), str):
            entry.detail["why"] = reason[:MAX_REASON_LENGTH]


run_at_end(write_pending)
run_after_failure(rescue_refusals)
