"""What paused runs wait for: the answer of a person, a time, or the end of a child run."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.engine.answerers import admits_link, admits_runner
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
    # Who may answer, as keys of ``engine.answerers``; an escalation adds some. Both times are null when they have passed.
    answerers = ArrayField(
        models.CharField(max_length=255),
        verbose_name=_("who answers"),
        default=list,
        db_default=[],
        blank=True,
    )
    remind_at = models.DateTimeField(_("reminds at"), null=True, blank=True)
    escalate_at = models.DateTimeField(_("escalates at"), null=True, blank=True)

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
            ),
            *(
                models.Index(
                    fields=[field],
                    condition=models.Q(answered_at__isnull=True, **{f"{field}__isnull": False}),
                    name=name,
                )
                for field, name in (
                    ("remind_at", "run_wait_to_remind"),
                    ("escalate_at", "run_wait_to_escalate"),
                )
            ),
        ]

    @property
    def admits_runner(self) -> bool:
        """Return whether the run's own people may answer."""
        return admits_runner(self.answerers)

    @property
    def admits_link(self) -> bool:
        """Return whether anybody who has the link may answer."""
        return admits_link(self.answerers)

    def __str__(self) -> str:
        return f"{self.node_key} {self.part}".strip()
