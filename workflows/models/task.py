"""Tasks: a title, a description, and the run that executed it last."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.personal import Personal


class Task(Personal):
    """A task, as private as a run. It is executed by its own workflow or by the team's task workflow."""

    workflow_lookup = "workflow_id"

    title = models.CharField(_("title"), max_length=255)
    description = models.TextField(_("description"), blank=True)
    workflow = models.ForeignKey(
        "workflows.Workflow", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    run = models.ForeignKey(
        "workflows.Run",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        db_constraint=False,
        related_name="+",
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("task")
        verbose_name_plural = _("tasks")
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.title
