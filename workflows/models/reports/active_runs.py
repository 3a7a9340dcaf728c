"""The queue: the runs that wait for a worker or are executed by one."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import Team
from accounts.tenancy import TenantModel


class ActiveRun(TenantModel):
    """A run that is queued or running, in a small table by which workers choose the next run fairly.

    A trigger on the runs writes these rows (``execution/sql/queue.sql``), and nothing else does. Their number is that of
    the unfinished runs, however many have ended, and a worker finds each team's next run without reading its others. Its id is the run's.
    """

    workflow_lookup = "workflow_id"

    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    workflow_id = models.UUIDField(_("workflow"))
    conversation_id = models.UUIDField(_("conversation"), null=True, blank=True)
    is_child = models.BooleanField(_("child run"), default=False)
    is_batch = models.BooleanField(
        _("batch"), default=False, help_text=_("Nobody waits for it in a chat or the editor.")
    )
    is_running = models.BooleanField(_("running"), default=False)
    queued_at = models.DateTimeField(_("queued at"))

    class Meta:
        verbose_name = _("unfinished run")
        verbose_name_plural = _("unfinished runs")
        ordering = ["queued_at", "id"]
        indexes = [
            models.Index(
                fields=["team", "is_batch", "workflow_id", "queued_at", "id"],
                condition=models.Q(is_running=False),
                name="active_run_waiting",
            ),
            models.Index(
                fields=["team", "workflow_id"],
                condition=models.Q(is_running=True),
                name="active_run_running",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
