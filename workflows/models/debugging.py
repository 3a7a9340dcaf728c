"""Rows for debugging: pinned outputs, and memory changes of dry runs."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import VerbatimJSONField, link_to_user, link_to_workflow
from workflows.models.run import JournalModel, Run


class Pin(TenantModel):
    """Outputs that a node returns in runs from the editor instead of running. The whole team sees them.

    ``subject`` is the person of the run that they were taken from; the pin is deleted when the person is erased.
    """

    workflow_lookup = "workflow_id"

    workflow = link_to_workflow("pins")
    node_key = models.CharField(_("node"), max_length=255)
    outputs = VerbatimJSONField(_("outputs"), default=dict)
    handle = models.CharField(_("handle"), max_length=255, null=True, blank=True)  # noqa: DJ001 - None differs from "" in the engine
    subject = models.CharField(_("subject"), max_length=255, blank=True, db_default="")
    pinned_by = link_to_user(_("pinned by"))
    pinned_at = models.DateTimeField(_("pinned at"), auto_now=True)

    class Meta:
        verbose_name = _("pin")
        verbose_name_plural = _("pins")
        ordering = ["workflow", "node_key"]
        constraints = [
            models.UniqueConstraint(fields=["workflow", "node_key"], name="pin_of_node_once")
        ]

    def __str__(self) -> str:
        return self.node_key

    @property
    def mock(self) -> dict[str, object]:
        """Return the pin as the engine's mock."""
        branch = {"handle": self.handle} if self.handle else {}
        return {"outputs": self.outputs, **branch}


class DryRunChange(JournalModel):
    """A change of memory that a dry run would have made, numbered in the run's order."""

    class Operation(models.TextChoices):
        STORE = "store", _("Remember")
        FORGET = "forget", _("Forget")

    class Fate(models.TextChoices):
        OPEN = "open", _("Not reviewed")
        KEPT = "kept", _("Kept")
        DROPPED = "dropped", _("Discarded")

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="would_be", db_index=False, db_constraint=False
    )
    number = models.PositiveIntegerField(_("number"))
    node_key = models.CharField(_("node"), max_length=255)
    origin_key = models.CharField(_("idempotency key"), max_length=512)
    operation = models.CharField(_("operation"), max_length=8, choices=Operation)
    scope = models.CharField(_("scope"), max_length=64)
    namespace = models.TextField(_("namespace"))
    key = models.TextField(_("key"))
    entry = VerbatimJSONField(_("entry after"), null=True, blank=True)
    before = VerbatimJSONField(_("entry before"), null=True, blank=True)
    fate = models.CharField(_("decision"), max_length=8, choices=Fate, default=Fate.OPEN)
    at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        db_table = "workflows_wouldbe"
        verbose_name = _("dry run change")
        verbose_name_plural = _("dry run changes")
        ordering = ["run", "number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="would_be_number_once")
        ]

    def __str__(self) -> str:
        return f"{self.operation} {self.key}"
