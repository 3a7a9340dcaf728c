"""The log of a draft, which has one row for each edit.

The database refuses to update a row, by a trigger and by the privileges of the app's role. Rows are deleted only with
their workflow.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel
from workflows.models.fields import VerbatimJSONField, link_to_user, link_to_workflow


class RevisionKind(models.TextChoices):
    """An edit, or the undo or redo of an earlier revision."""

    EDIT = "edit", _("Edit")
    UNDO = "undo", _("Undo")  # ``undoes`` is the edit or redo that it reverts
    REDO = "redo", _("Redo")  # ``undoes`` is the undo that it reverts


class Revision(TenantModel):
    """An edit's operations and their inverse; ``number`` is the draft's revision afterwards."""

    workflow_lookup = "workflow_id"

    workflow = link_to_workflow("revisions")
    number = models.PositiveIntegerField(_("number"))
    base = models.PositiveIntegerField(_("based on"))
    kind = models.CharField(_("kind"), max_length=8, choices=RevisionKind, default="edit")
    undoes = models.PositiveIntegerField(_("undoes"), null=True, blank=True)
    author = link_to_user(
        _("author"),
        on_delete=models.DO_NOTHING,  # SET_NULL would be an update, which is refused
        db_constraint=False,
    )
    # Undo and redo apply to the actor's edits. The edits of a program belong to its API key, not to a person.
    actor = models.CharField(_("actor"), max_length=100)
    client = models.CharField(_("tab"), max_length=100, blank=True)
    key = models.CharField(_("idempotency key"), max_length=100, null=True, blank=True)  # noqa: DJ001 - null keys are not unique
    label = models.CharField(_("label"), max_length=255, blank=True)
    ops = VerbatimJSONField(_("operations"))
    inverse = VerbatimJSONField(_("inverse operations"))
    at = models.DateTimeField(_("at"), auto_now_add=True)

    class Meta:
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        ordering = ["workflow", "-number"]
        indexes = [models.Index(fields=["workflow", "actor", "-number"], name="revision_of_actor")]
        constraints = [
            models.UniqueConstraint(fields=["workflow", "number"], name="revision_number_once"),
            models.UniqueConstraint(fields=["workflow", "key"], name="revision_key_once"),
            models.CheckConstraint(
                condition=models.Q(kind__in=RevisionKind.values), name="revision_kind_known"
            ),
            models.CheckConstraint(
                condition=models.Q(kind="edit", undoes__isnull=True)
                | models.Q(undoes__isnull=False),
                name="revision_undoes_something",
            ),
        ]

    def __str__(self) -> str:
        return f"r{self.number}"
