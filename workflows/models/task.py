"""A task: something to be done, said in a title and a description, and the run that did it last."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.personal import Personal


class Task(Personal):
    """Seen by whose it is, as a run is. It is executed by a workflow: its own, or the team's for tasks."""

    title = models.CharField(_("title"), max_length=255)
    description = models.TextField(_("description"), blank=True)
    workflow = models.ForeignKey(
        "workflows.Workflow", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    run = models.ForeignKey(
        "workflows.Run", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("task")
        verbose_name_plural = _("tasks")
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.title
