"""Immutable documents: snapshots by the hash of their content, and numbered versions that refer to them.

The database refuses to update either (a trigger of the first migration).
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import VerbatimJSONField, link_to_user, link_to_workflow


class Snapshot(TenantModel):
    """A workflow document found by the hash of its content. Every run pins one.

    Snapshots belong to a team: content shared between teams would reveal to one what the other
    has. A document never contains secret values; a run reads them when it needs them.
    """

    workflow_lookup = None

    hash = models.CharField(_("content hash"), max_length=64)
    document = VerbatimJSONField(_("document"))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("snapshot")
        verbose_name_plural = _("snapshots")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["team", "hash"], name="snapshot_hash_once"),
            models.CheckConstraint(
                condition=models.Q(hash__regex=r"^[0-9a-f]{64}$"), name="snapshot_hash_is_sha256"
            ),
        ]

    def __str__(self) -> str:
        return self.hash[:12]


class Version(TenantModel):
    """A numbered copy of a workflow's draft."""

    workflow_lookup = "workflow_id"

    workflow = link_to_workflow("versions")
    number = models.PositiveIntegerField(_("number"))
    snapshot = models.ForeignKey(
        Snapshot, verbose_name=_("snapshot"), on_delete=models.PROTECT, related_name="versions"
    )
    note = models.TextField(_("note"), blank=True)
    created_by = link_to_user(
        _("created by"),
        on_delete=models.DO_NOTHING,  # SET_NULL would be an update, which is refused
        db_constraint=False,
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("version")
        verbose_name_plural = _("versions")
        ordering = ["workflow", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["workflow", "number"], name="version_number_once"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="version_from_one"),
        ]

    def __str__(self) -> str:
        return f"v{self.number}"

    @property
    def content_hash(self) -> str:
        return self.snapshot.hash
