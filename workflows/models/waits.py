"""What paused runs wait for: the answer of a person, a time, or the end of a child run."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.fields import VerbatimJSONField
from workflows.models.run import JournalModel, Run


class RunWait(JournalModel):
    """A wait of a step, or of a part of it. It is open until it has an answer or its time has come.

    ``form`` is what a person is shown, see ``workflows.engine.runtime.waits``; it is null for a delay and for a child run.
    """

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="waits", db_index=False, db_constraint=False
    )
    node_key = models.CharField(_("node"), max_length=255)
    rounds = ArrayField(models.IntegerField(), verbose_name=_("rounds"), default=list, blank=True)
    part = models.CharField(_("part"), max_length=255, blank=True)
    form = VerbatimJSONField(_("form"), null=True, blank=True)
    # The child run whose end is waited for, if the wait is not for an answer.
    child_run_id = models.UUIDField(_("child run"), null=True, blank=True)
    due_at = models.DateTimeField(_("ends at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    action = models.CharField(_("action"), max_length=255, blank=True, db_default="")
    values = VerbatimJSONField(_("values"), null=True, blank=True)
    answered_by = models.CharField(_("answered by"), max_length=255, blank=True, db_default="")
    answered_at = models.DateTimeField(_("answered at"), null=True, blank=True)
    is_timed_out = models.BooleanField(_("timed out"), default=False, db_default=False)

    class Meta:
        verbose_name = _("wait")
        verbose_name_plural = _("waits")
        ordering = ["run", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "node_key", "rounds", "part"], name="run_wait_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["team"],
                condition=models.Q(answered_at__isnull=True),
                name="run_wait_open",
            )
        ]

    def __str__(self) -> str:
        return f"{self.node_key} {self.part}".strip()
