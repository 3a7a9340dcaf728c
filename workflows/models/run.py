"""A run and its steps: the state that survives a crash.

The run tables are partitioned by the week in which a run was created (``execution/sql/history.sql``). A UUIDv7 begins
with a time, so the partition key is the run's id: ``id`` of ``workflows_run``, ``run_id`` of its steps, events, parts,
partial texts and intents. Every unique constraint of these tables contains it, and their primary keys begin with it,
whatever Django takes for the primary key. Foreign keys to runs are not constraints of the database, so that a week can
be dropped without a lock on the tables that refer to it; upkeep clears what refers to a run before it drops the run.
"""

import json
from datetime import datetime, timedelta
from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.lookups import GreaterThan
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Team
from accounts.personas import name_external_user
from accounts.tenancy import TenantModel
from workflows.engine.errors import ModelNeeded
from workflows.engine.kinds import SHOWN_MEMORIES
from workflows.engine.language.document import Json
from workflows.engine.language.values import get_file_attribute, is_file
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


class Channel(models.TextChoices):
    """How a run was started: from a page, or by a program through one of the APIs."""

    PAGE = "page", _("Page")
    API = "api", _("API")
    OPENAI = "openai", _("OpenAI API")
    DIFY = "dify", _("Dify API")
    MCP = "mcp", _("MCP")
    LINK = "link", _("Chat link")
    EMBED = "embed", _("Chat bubble")
    WEBHOOK = "webhook", _("Webhook")
    SCHEDULE = "schedule", _("Schedule")


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


# The time from a run's creation to its end.
TAKEN = models.ExpressionWrapper(
    models.F("finished_at") - models.F("created_at"), output_field=models.DurationField()
)

# Workers that may die one after the other over a run without its progress, as in ``execution/sql/claims.sql``.
DEATHS_UNTIL_PARKED = 3


# The name in ``Run.debug`` of the people from whose runs its pinned outputs are.
PINS_OF: Final = "pins_of"


class Run(Personal):
    """One execution of a snapshot. The row is also the outbox: while it is queued, it waits for a worker."""

    workflow_lookup = "workflow_id"

    team = models.ForeignKey(Team, on_delete=models.PROTECT, db_index=False, related_name="+")
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
    # Empty for runs from before it was recorded.
    channel = models.CharField(
        _("channel"), max_length=12, choices=Channel, blank=True, db_default=""
    )
    # The earlier messages from a client that keeps its conversations itself, and what the call leaves out.
    client_call = VerbatimJSONField(_("call of a client"), null=True, blank=True)
    # The request that started it, as in the log of the web server; that of its parent for a sub-workflow's run.
    request_id = models.CharField(_("request"), max_length=64, blank=True, db_default="")
    # The id that the caller's own tracing has for the request; that of its parent for a sub-workflow's run.
    trace_id = models.CharField(_("trace"), max_length=128, blank=True, db_default="")
    # The run whose step started this one as a sub-workflow, and the idempotency key of that step.
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="children",
        db_index=False,
        db_constraint=False,
    )
    parent_key = models.CharField(_("parent step"), max_length=255, blank=True, db_default="")
    # The start above the run that called this installation from outside to begin this one, or one above it, and the number of
    # such calls in a row. See ``execution.called_runs``.
    called_by_start = models.UUIDField(_("start of the caller"), null=True, blank=True)
    calls_above = models.SmallIntegerField(_("calls above"), default=0, db_default=0)
    # The rounds of an iteration that this run executes for its parent; null for every other run. See
    # ``execution.rounds``. Such a run is part of its parent: lists don't show it, and usage doesn't count it.
    rounds = VerbatimJSONField(_("rounds"), null=True, blank=True)
    # What the agent that called the workflow of a child run has left for it; null if there is no limit.
    spending_limits = VerbatimJSONField(_("spending limits"), null=True, blank=True)
    # What a person allowed together with a call that this run was started by, or a run above it; null if nobody was asked.
    # See ``execution.ports.published_versions``.
    approval = VerbatimJSONField(_("approval"), null=True, blank=True)
    # Of a start: what the calls of models below it have spent and reserved of what they share. See
    # ``execution.ports.shares``. Null until one reserves something.
    shares = VerbatimJSONField(_("shares"), null=True, blank=True)
    # The steps of a child run with those of its calls of models that are in progress; ``execution.ports.runs_below``.
    reserved_steps = models.IntegerField(_("reserved steps"), default=0, db_default=0)
    # Whether the inputs of a child run, or the outputs of any run, may contain untrusted content.
    has_untrusted_inputs = models.BooleanField(
        _("has untrusted inputs"), default=False, db_default=False
    )
    # Whether such content may have decided that this child run was started.
    is_chosen_by_untrusted = models.BooleanField(
        _("chosen by untrusted content"), default=False, db_default=False
    )
    has_untrusted_outputs = models.BooleanField(
        _("has untrusted outputs"), default=False, db_default=False
    )
    # The words of memories in the inputs of a child run, and in the outputs of any run; see ``engine.language.content_marks.shown_memories``.
    memories_in_inputs = ArrayField(
        models.TextField(),
        verbose_name=_("memories in the inputs"),
        default=list,
        db_default=[],
        blank=True,
    )
    memories_in_outputs = ArrayField(
        models.TextField(),
        verbose_name=_("memories in the outputs"),
        default=list,
        db_default=[],
        blank=True,
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
    exceptions_count = models.IntegerField(_("handled failures"), default=0)
    prompt_tokens = models.BigIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.BigIntegerField(_("completion tokens"), default=0)
    # In USD, with that of its sub-workflows; null if no price is known. ``execution.usage`` writes it after the end.
    cost = models.FloatField(_("cost"), null=True, blank=True)
    is_counted = models.BooleanField(_("counted in usage"), default=False, db_default=False)

    # The worker that executes it now. ``attempt`` is the fencing token: a write by an older attempt finds no row.
    attempt = models.IntegerField(_("attempt"), default=0)
    kill_count = models.SmallIntegerField(_("workers lost"), default=0)
    worker = models.CharField(_("worker"), max_length=255, blank=True)
    lease_until = models.DateTimeField(_("leased until"), null=True, blank=True)
    # The time at which a paused run continues by itself: the earliest end of what it waits for.
    wake_at = models.DateTimeField(_("wakes at"), null=True, blank=True)
    cancel_requested_at = models.DateTimeField(_("cancel requested at"), null=True, blank=True)
    last_seq = models.BigIntegerField(_("last event"), default=0)

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
        ]
        indexes = [
            # Not unique, as a unique index contains the partition key; a child's id is computed from both instead.
            models.Index(
                fields=["parent", "parent_key"],
                condition=models.Q(parent__isnull=False),
                name="run_of_parent",
            ),
            models.Index(
                fields=["called_by_start"],
                condition=models.Q(called_by_start__isnull=False),
                name="run_called_by_start",
            ),
            models.Index(fields=["workflow", "-created_at"], name="run_of_workflow"),
            models.Index(fields=["team", "started_by", "-created_at"], name="run_of_person"),
            models.Index(fields=["team", "-created_at", "-id"], name="run_of_team"),
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
            # For the end of a week (``history_list_kept``): runs that may have to be stored for longer than others of
            # their week. It also lists failed runs.
            models.Index(
                fields=["team", "-created_at", "-id"],
                condition=models.Q(status__in=["failed", "paused"])
                | models.Q(GreaterThan(TAKEN, timedelta(hours=1))),
                name="run_to_keep",
            ),
            models.Index(
                fields=["team", "subject"],
                condition=models.Q(subject_user__isnull=True),
                name="run_of_external_user",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    @property
    def is_uncertain(self) -> bool:
        """Return whether the run waits for a person to decide about a step whose outcome is unknown."""
        return self.status == RunStatus.PAUSED and bool((self.pause or {}).get("uncertain"))

    @cached_property
    def repeated_calls(self) -> int:
        """Return how many calls of steps were made again, because a worker was lost and may have made them before."""
        if self.attempt < 2:
            return 0
        count: int = self.intents.filter(is_repeated=True).count()
        return count

    @property
    def attempt_number(self) -> int:
        """Return the number of the attempt for people. ``attempt`` also counts each time a run went on after a wait."""
        return self.kill_count if self.is_parked else self.kill_count + 1

    @property
    def is_parked(self) -> bool:
        """Return whether the run was given up because its workers died (``execution_park``); it can be continued."""
        return self.status == RunStatus.FAILED and self.kill_count >= DEATHS_UNTIL_PARKED

    @property
    def lacks_model(self) -> bool:
        """Return whether the run failed because its task needs a language model, and the offline demo model was asked."""
        return self.status == RunStatus.FAILED and ModelNeeded.reason in self.error

    @property
    def status_text(self) -> str:
        """Return the status for people: for a paused run, what it waits for."""
        reason = (self.pause or {}).get("reason") if self.status == RunStatus.PAUSED else None
        if self.lacks_model:
            return gettext("Failed: needs a model")
        if self.is_uncertain:
            return gettext("Uncertain: decide")
        if reason == "input":
            asks_others = bool((self.pause or {}).get("asks_others"))
            return gettext("Waiting for an answer") if asks_others else gettext("Waiting for you")
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
        """Return the text that people recognize a run by: its query, its first text, file or other input, else its time."""
        query = self.system.get("query")
        texts = [query, *map(_name_file, self.inputs.values())]
        if text := next((text for text in texts if isinstance(text, str) and text.strip()), ""):
            return text
        values = ((name, value) for name, value in self.inputs.items() if value not in _EMPTY)
        if first := next(values, None):
            return f"{first[0]}: {json.dumps(first[1], ensure_ascii=False)}"
        at = date_format(timezone.localtime(self.created_at), "DATETIME_FORMAT")
        return gettext("Run of %(time)s") % {"time": at}

    @property
    def person(self) -> str:
        """Return the name or email address of the account that the run is for, else the external or test user's name."""
        user = self.subject_user
        return (user.name or user.email) if user else name_external_user(self.subject)


_EMPTY: Final[tuple[Json, ...]] = (None, "", [], {})


def _name_file(value: Json) -> Json:
    """Return the name of a file, or of the first one in a list, and any other value as it is."""
    first = value[0] if isinstance(value, list) and value else value
    return get_file_attribute(first, "name") if is_file(first) else value


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

    workflow_lookup = "run__workflow_id"

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
    attempt = models.IntegerField(_("attempt"), default=1)
    kind = models.CharField(_("kind"), max_length=255)
    title = models.TextField(_("title"), blank=True)
    status = models.CharField(_("status"), max_length=16, choices=StepStatus)
    handle = models.CharField(_("handle"), max_length=255, null=True, blank=True)  # noqa: DJ001 - None differs from "" in the engine
    inputs = VerbatimJSONField(_("inputs"), default=dict, blank=True)
    outputs = VerbatimJSONField(_("outputs"), default=dict, blank=True)
    error = models.TextField(_("error"), blank=True)
    error_type = models.CharField(_("error type"), max_length=255, blank=True)
    writes = VerbatimJSONField(_("variables written"), default=list, blank=True)
    tries = models.IntegerField(_("tries"), default=1)
    started_at = models.FloatField(_("started at"), default=0, help_text=_("Unix seconds."))
    # Without the time for which it waited for a place in a pool of runners, which ``waited`` has.
    elapsed = models.FloatField(_("seconds"), default=0)
    waited = models.FloatField(_("seconds waited for a place"), default=0, db_default=0)
    prompt_tokens = models.BigIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.BigIntegerField(_("completion tokens"), default=0)
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

    def __str__(self) -> str:
        return f"{self.node_key}{self.rounds or ''}"

    @property
    def shown_inputs(self) -> dict[str, Json]:
        """Return the inputs for people and programs: without the texts of memories, which the outputs or the prompt have, too."""
        inputs = self.inputs or {}
        return {name: value for name, value in inputs.items() if name != SHOWN_MEMORIES}

    @property
    def has_shortfall(self) -> bool:
        """Return whether the step succeeded and left something undone; ``error`` says what."""
        return self.status == StepStatus.SUCCEEDED and bool(self.error_type)

    @property
    def status_text(self) -> str:
        """Return the status for people."""
        return str(RunStatus.PARTIAL.label if self.has_shortfall else self.get_status_display())

    @property
    def shown_status(self) -> str:
        """Return the status by whose color the step is shown."""
        return RunStatus.PARTIAL.value if self.has_shortfall else self.status
