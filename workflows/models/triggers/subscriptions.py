"""Webhooks out: who is told that a run ended, and each message to them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import Authored


class RunEnd(models.TextChoices):
    """The ends of runs about which others are told."""

    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    PAUSED = "paused", _("Paused")


class DeliveryStatus(models.TextChoices):
    PENDING = "pending", _("Pending")
    SENT = "sent", _("Sent")
    GIVEN_UP = "given_up", _("Given up")


class RunSubscription(Authored, TenantModel):
    """An address that is told when runs of published versions end: those of one workflow, or of all of the team's."""

    workflow_lookup = "workflow_id"

    workflow = models.ForeignKey(
        "workflows.Workflow",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="run_subscriptions",
        verbose_name=_("workflow"),
    )
    url = models.CharField(_("address"), max_length=2048)
    events = ArrayField(
        models.CharField(max_length=12, choices=RunEnd), verbose_name=_("ends of runs")
    )
    sealed_secret = models.BinaryField(editable=False)
    is_on = models.BooleanField(_("on"), default=True)
    # Attempts in a row that got no answer, or only that the receiver has a fault. Until ``retry_at`` it is left alone.
    failures = models.PositiveIntegerField(_("failures"), default=0, db_default=0)
    retry_at = models.DateTimeField(_("left alone until"), null=True, blank=True)

    class Meta:
        verbose_name = _("subscription to ended runs")
        verbose_name_plural = _("subscriptions to ended runs")
        ordering = ["created_at", "id"]
        indexes = [
            models.Index(
                fields=["team"], condition=models.Q(is_on=True), name="run_subscription_on"
            ),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def event_labels(self) -> list[str]:
        """Return the labels of the ends that it is about, in their usual order."""
        return [str(end.label) for end in RunEnd if end in self.events]


class Delivery(TenantModel):
    """A message about the end of a run. The transaction that ends the run adds it, so that none is lost."""

    workflow_lookup = "subscription__workflow_id"

    subscription = models.ForeignKey(
        RunSubscription, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    # Without foreign keys: runs are deleted when their days are over.
    workflow_id = models.UUIDField(_("workflow"))
    run_id = models.UUIDField(_("run"))
    event = models.CharField(_("end of the run"), max_length=12, choices=RunEnd)
    status = models.CharField(
        _("status"), max_length=10, choices=DeliveryStatus, default=DeliveryStatus.PENDING
    )
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_at = models.DateTimeField(_("next attempt"), null=True, blank=True)
    answer_status = models.PositiveSmallIntegerField(
        _("status of the answer"), null=True, blank=True
    )
    error = models.CharField(_("last error"), max_length=500, blank=True)
    created_at = models.DateTimeField(_("created at"))
    sent_at = models.DateTimeField(_("sent at"), null=True, blank=True)

    class Meta:
        verbose_name = _("message about a run")
        verbose_name_plural = _("messages about runs")
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(
                fields=["team", "subscription", "next_at", "id"],
                condition=models.Q(next_at__isnull=False),
                name="delivery_of_receiver",
            ),
            models.Index(fields=["subscription", "-created_at"], name="delivery_log"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.run_id}"
