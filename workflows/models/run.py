"""A run and its steps: the state that survives a crash.

The run tables grow without end and will be partitioned by time. A UUIDv7 *is* a time, so the partition key can be the
run's id (``workflows_run`` by ``id``, everything else by ``run_id``): every unique constraint below already contains
it, no other table needs a time column, and a month's runs are dropped with all that belongs to them. That change needs
a primary key of ``(run_id, id)`` for the children, to which no other table refers.
"""

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Team
from accounts.personas import strip_player
from accounts.tenancy import TenantModel
from workflows.engine.errors import ModelNeeded
from workflows.engine.runtime import step_records
from workflows.models.fields import VerbatimJSONField, link_to_workflow
from workflows.models.personal import Personal


class RunStatus(models.TextChoices):
    """The statuses of ``engine.runtime.step_records.RunStatus`` with their labels."""

    QUEUED = step_records.RunStatus.QUEUED.value, _("Queued")
    RUNNING = step_records.RunStatus.RUNNING.value, _("Running")
    SUCCEEDED = step_records.RunStatus.SUCCEEDED.value, _("Succeeded")
    PARTIAL = step_records.RunStatus.PARTIAL.value, _("Partially succeeded")
    FAILED = step_records.RunStatus.FAILED.value, _("Failed")
    STOPPED = step_records.RunStatus.STOPPED.value, _("Stopped")
    PAUSED = step_records.RunStatus.PAUSED.value, _("Paused")


class StepStatus(models.TextChoices):
    """The statuses of ``engine.runtime.step_records.StepStatus`` with their labels, and ``running``."""

    RUNNING = "running", _("Running")
    SUCCEEDED = step_records.StepStatus.SUCCEEDED.value, _("Succeeded")
    FAILED = step_records.StepStatus.FAILED.value, _("Failed")
    EXCEPTION = step_records.StepStatus.EXCEPTION.value, _("Failed (handled)")
    SKIPPED = step_records.StepStatus.SKIPPED.value, _("Skipped")
    STOPPED = step_records.StepStatus.STOPPED.value, _("Stopped")
    PAUSED = step_records.StepStatus.PAUSED.value, _("Paused")


ENDED = (RunStatus.SUCCEEDED, RunStatus.PARTIAL, RunStatus.FAILED, RunStatus.STOPPED)
STEP_ENDED = (
    StepStatus.SUCCEEDED,
    StepStatus.FAILED,
    StepStatus.EXCEPTION,
    StepStatus.SKIPPED,
    StepStatus.STOPPED,
)


class Run(Personal):
    """One execution of a snapshot. The row is also the outbox: while it is queued, it waits for a worker."""

    workflow = link_to_workflow("runs")
    snapshot = models.ForeignKey(
        "workflows.Snapshot", on_delete=models.PROTECT, related_name="runs", db_index=False
    )
    version = models.ForeignKey(  # null for a run of the draft
        "workflows.Version",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="runs",
        db_index=False,
    )
    conversation = models.ForeignKey(
        "workflows.Conversation",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="runs",
    )

    actor = models.CharField(_("actor"), max_length=255)
    # The run whose step started this one as a sub-workflow, and the idempotency key of that step.
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="children",
        db_index=False,
    )
    parent_key = models.CharField(_("parent step"), max_length=255, blank=True, db_default="")
    # Whether the inputs of a child run, or the outputs of any run, may contain untrusted content.
    has_untrusted_inputs = models.BooleanField(
        _("has untrusted inputs"), default=False, db_default=False
    )
    has_untrusted_outputs = models.BooleanField(
        _("has untrusted outputs"), default=False, db_default=False
    )

    # The inputs and the results.
    status = models.CharField(
        _("status"), max_length=24, choices=RunStatus, default=RunStatus.QUEUED
    )
    inputs = VerbatimJSONField(_("inputs"), default=dict, blank=True)
    system = VerbatimJSONField(_("system variables"), default=dict, blank=True)
    mocks = VerbatimJSONField(_("pinned outputs"), null=True, blank=True)
    offline = models.BooleanField(_("offline"), default=False)
    # The debugging options (``engine.runtime.partial_runs``, ``execution.debugging``), and the state of a paused run.
    debug = VerbatimJSONField(_("debugging"), null=True, blank=True)
    pause = VerbatimJSONField(_("pause"), null=True, blank=True)
    outputs = VerbatimJSONField(_("outputs"), null=True, blank=True)
    error = models.TextField(_("error"), blank=True)
    error_node = models.CharField(_("failed node"), max_length=255, blank=True)
    exceptions_count = models.PositiveIntegerField(_("handled failures"), default=0)
    prompt_tokens = models.PositiveBigIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.PositiveBigIntegerField(_("completion tokens"), default=0)
    # In USD, with that of its sub-workflows; null if no price is known. ``execution.usage`` writes it after the end.
    cost = models.FloatField(_("cost"), null=True, blank=True)
    is_counted = models.BooleanField(_("counted in usage"), default=False, db_default=False)

    # The worker that executes it now. ``attempt`` is the fencing token: a write by an older attempt finds no row.
    attempt = models.PositiveIntegerField(_("attempt"), default=0)
    kill_count = models.PositiveSmallIntegerField(_("workers lost"), default=0)
    worker = models.CharField(_("worker"), max_length=255, blank=True)
    lease_until = models.DateTimeField(_("leased until"), null=True, blank=True)
    # The time at which a paused run continues by itself: the earliest end of what it waits for.
    wake_at = models.DateTimeField(_("wakes at"), null=True, blank=True)
    cancel_requested_at = models.DateTimeField(_("cancel requested at"), null=True, blank=True)
    last_seq = models.PositiveBigIntegerField(_("last event"), default=0)

    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    queued_at = models.DateTimeField(_("queued at"), null=True, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    elapsed = models.FloatField(_("seconds"), null=True, blank=True)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=RunStatus.values), name="run_status_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(status__in=[status.value for status in ENDED])
                | models.Q(finished_at__isnull=False),
                name="run_ended_has_a_time",
            ),
            models.UniqueConstraint(
                fields=["parent", "parent_key"],
                condition=models.Q(parent__isnull=False),
                name="run_of_parent_step_once",
            ),
        ]
        indexes = [
            models.Index(fields=["workflow", "-created_at"], name="run_of_workflow"),
            models.Index(fields=["team", "started_by", "-created_at"], name="run_of_person"),
            # For the three queries of recovery; each index holds only the few matching rows.
            models.Index(
                fields=["queued_at"], condition=models.Q(status="queued"), name="run_queued"
            ),
            models.Index(
                fields=["lease_until"], condition=models.Q(status="running"), name="run_leased"
            ),
            models.Index(
                fields=["wake_at"], condition=models.Q(wake_at__isnull=False), name="run_to_wake"
            ),
            models.Index(
                fields=["team", "finished_at"],
                condition=models.Q(is_counted=False, finished_at__isnull=False),
                name="run_to_count",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    @property
    def lacks_model(self) -> bool:
        """Return whether the run failed because its task needs a language model, and the team has none."""
        return self.status == RunStatus.FAILED and ModelNeeded().message in self.error

    @property
    def status_text(self) -> str:
        """Return the status for people: for a paused run, what it waits for."""
        reason = (self.pause or {}).get("reason") if self.status == RunStatus.PAUSED else None
        if self.lacks_model:
            return gettext("Failed: needs a model")
        if reason == "input":
            return gettext("Waiting for you")
        if reason == "child":
            return gettext("Waiting for another run")
        if reason == "time" and self.wake_at is not None:
            return gettext("Waits until %(time)s") % {"time": _format_time(self.wake_at)}
        return str(self.get_status_display())

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def summary(self) -> str:
        """Return the text that people recognize a run by: its query, else its first text input."""
        query = self.system.get("query")
        texts = [query, *self.inputs.values()]
        return next(
            (text for text in texts if isinstance(text, str) and text.strip()), str(self.id)
        )

    @property
    def person(self) -> str:
        """Return the name or email address of the account that the run is for, else the external or test user's name."""
        user = self.subject_user
        return (user.name or user.email) if user else strip_player(self.subject)


def _format_time(time: datetime) -> str:
    """Return the time of day, with the date unless it is today."""
    local = timezone.localtime(time)
    if local.date() == timezone.localdate():
        return date_format(local, "H:i")
    return date_format(local, "DATETIME_FORMAT")


class JournalModel(TenantModel):
    """A row of a run's journal, with few indexes and constraints, because each costs time for every row.

    The run implies the team. Rows are written by code that has just found their run: a foreign key would look the
    same row up again.
    """

    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+"
    )

    class Meta:
        abstract = True


class Step(JournalModel):
    """A node's execution in a run. A later attempt at the run doesn't repeat a finished step."""

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="steps", db_index=False, db_constraint=False
    )
    node_key = models.CharField(_("node"), max_length=255)
    rounds = ArrayField(models.IntegerField(), verbose_name=_("rounds"), default=list, blank=True)
    attempt = models.PositiveIntegerField(_("attempt"), default=1)
    kind = models.CharField(_("kind"), max_length=255)
    title = models.TextField(_("title"), blank=True)
    status = models.CharField(_("status"), max_length=16, choices=StepStatus)
    handle = models.CharField(_("handle"), max_length=255, null=True, blank=True)  # noqa: DJ001 - None differs from "" in the engine
    inputs = VerbatimJSONField(_("inputs"), default=dict, blank=True)
    outputs = VerbatimJSONField(_("outputs"), default=dict, blank=True)
    error = models.TextField(_("error"), blank=True)
    error_type = models.CharField(_("error type"), max_length=255, blank=True)
    writes = VerbatimJSONField(_("variables written"), default=list, blank=True)
    tries = models.PositiveIntegerField(_("tries"), default=1)
    started_at = models.FloatField(_("started at"), default=0, help_text=_("Unix seconds."))
    elapsed = models.FloatField(_("seconds"), default=0)
    prompt_tokens = models.PositiveBigIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.PositiveBigIntegerField(_("completion tokens"), default=0)
    # Database defaults, because the function that writes steps doesn't set these columns.
    reused_from = models.UUIDField(_("reused from run"), null=True, blank=True)
    edited_by = models.CharField(_("edited by"), max_length=255, blank=True, db_default="")
    edited_at = models.DateTimeField(_("edited at"), null=True, blank=True)

    class Meta:
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        ordering = ["run", "id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=StepStatus.values), name="step_status_known"
            ),
            models.UniqueConstraint(
                fields=["run", "node_key", "rounds"],
                condition=models.Q(status__in=[status.value for status in STEP_ENDED]),
                name="step_finished_once",
            ),
        ]
        indexes = [models.Index(fields=["run", "id"], name="step_of_run")]

    def __str__(self) -> str:
        return f"{self.node_key}{self.rounds or ''}"
