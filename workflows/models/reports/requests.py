"""The answers to requests with an ``Idempotency-Key``, which a repeated request gets again."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel


class IdempotencyKey(TenantModel):
    """A key that a principal has sent with a request of a team, and the first answer to it. It is kept for a day.

    The row is written in the transaction that does the work: it is there if and only if the work is done. There is no
    foreign key to what was started, because the row neither keeps it nor depends on it.
    """

    workflow_lookup = None

    actor = models.CharField(_("sender"), max_length=255)
    key = models.CharField(_("key"), max_length=255)
    digest = models.CharField(_("digest of the request"), max_length=64)
    status = models.PositiveSmallIntegerField(_("status of the answer"), null=True, blank=True)
    body = models.TextField(_("body of the answer"), blank=True)
    # The run or the task that the answer is about; an erased person's answers are deleted with it.
    object_id = models.UUIDField(_("run or task"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("idempotency key")
        verbose_name_plural = _("idempotency keys")
        ordering = ["team", "created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "actor", "key"], name="idempotency_key_once_a_sender"
            )
        ]
        indexes = [
            models.Index(fields=["team", "created_at"], name="idempotency_key_expiry"),
            models.Index(
                fields=["object_id"],
                condition=models.Q(object_id__isnull=False),
                name="idempotency_key_object",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.key}"
