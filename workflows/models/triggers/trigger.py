"""The triggers of workflows: the address of a webhook, and the next time of a schedule."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import VerbatimJSONField, link_to_user, link_to_workflow


class TriggerKind(models.TextChoices):
    """The kinds of nodes that are triggers."""

    WEBHOOK = "trigger-webhook", _("Webhook")
    SCHEDULE = "trigger-schedule", _("Schedule")


class Trigger(TenantModel):
    """A trigger node of a workflow. The row keeps its address when the node is published again.

    It starts runs while it is in the published version, switched on, and its workflow isn't archived.
    """

    workflow_lookup = "workflow_id"

    workflow = link_to_workflow("triggers")
    node_id = models.CharField(_("node"), max_length=255)
    kind = models.CharField(_("type"), max_length=20, choices=TriggerKind)
    title = models.CharField(_("title"), max_length=255, blank=True)
    # The data of the node in the published version, or of the draft's if it was never published.
    settings = VerbatimJSONField(_("settings"), default=dict, blank=True)
    is_published = models.BooleanField(_("published"), default=False)
    is_on = models.BooleanField(_("on"), default=True)
    # The key with whose rights its runs work. Nobody has its secret; revoking it stops the trigger.
    api_key = models.ForeignKey(
        "accounts.ApiKey",
        verbose_name=_("API key"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )

    # Webhooks: the address contains the token, which is looked up by its hash. Both are encrypted, as they grant access.
    token_hash = models.CharField(max_length=64, null=True, blank=True, unique=True, editable=False)
    sealed_token = models.BinaryField(null=True, blank=True, editable=False)
    sealed_secret = models.BinaryField(null=True, blank=True, editable=False)
    # The member who waits for one call, which starts a run of the draft, until when, and the run that it started.
    listener = link_to_user(_("waits for a test call"))
    listens_until = models.DateTimeField(_("waits until"), null=True, blank=True)
    test_call = VerbatimJSONField(_("test call"), null=True, blank=True)
    test_run_id = models.UUIDField(_("test run"), null=True, blank=True)

    # Schedules: the next time at which a run is due; null while the trigger doesn't start any.
    next_at = models.DateTimeField(_("next run"), null=True, blank=True)

    last_at = models.DateTimeField(_("last run at"), null=True, blank=True)
    # Without a foreign key, because runs are deleted when their days are over.
    last_run_id = models.UUIDField(_("last run"), null=True, blank=True)
    error = models.TextField(_("last error"), blank=True)
    error_at = models.DateTimeField(_("time of the last error"), null=True, blank=True)

    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("trigger")
        verbose_name_plural = _("triggers")
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["workflow", "node_id"], name="trigger_of_node_once"),
            models.CheckConstraint(
                condition=models.Q(kind__in=TriggerKind.values), name="trigger_kind_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_at", "id"],
                condition=models.Q(next_at__isnull=False),
                name="trigger_due",
            ),
        ]

    def __str__(self) -> str:
        return self.title or self.node_id

    @property
    def is_webhook(self) -> bool:
        return self.kind == TriggerKind.WEBHOOK

    @property
    def is_active(self) -> bool:
        return self.is_published and self.is_on
