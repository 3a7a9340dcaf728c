"""The audit trail. Rows name no other row, so that nothing can be deleted around them; the database writes the chain."""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantManager
from config.ids import uuid7


GENESIS = "0" * 64


class AuditEntry(models.Model):
    """Something somebody did or was refused. Sequence, time and hashes are set by a trigger, whatever is sent."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team_id = models.UUIDField(editable=False)
    seq = models.BigIntegerField(default=0, editable=False)
    at = models.DateTimeField(_("when"), default=timezone.now, editable=False)
    actor_kind = models.CharField(_("kind of actor"), max_length=10, editable=False)
    actor = models.CharField(_("actor"), max_length=120, editable=False)
    action = models.CharField(_("action"), max_length=60, editable=False)
    subject = models.CharField(_("subject"), max_length=300, editable=False)
    detail = models.JSONField(_("detail"), default=dict, editable=False)
    success = models.BooleanField(_("done"), default=True, editable=False)
    prev_hash = models.CharField(max_length=64, default="", editable=False)
    hash = models.CharField(max_length=64, default="", editable=False)

    _unscoped = models.Manager()
    objects = TenantManager()

    class Meta:
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit trail")
        ordering = ("team_id", "-seq")
        constraints = (
            models.UniqueConstraint(fields=("team_id", "seq"), name="accounts_auditentry_seq"),
        )
        # What a page of the trail is asked by. The time goes by blocks, for a fraction of a tree's price.
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
            BrinIndex(fields=("at",), name="accounts_audit_at"),
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
