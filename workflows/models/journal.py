"""The rows of a run's journal: commits with events and begun effects, calls of agents, and partial text.

They are append-only, except for the partial text. They are partitioned with the runs: see ``run.py``.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.fields import VerbatimJSONField
from workflows.models.run import JournalModel, Run


class RunCommit(JournalModel):
    """The events and intents that a worker committed at once for a run. See ``execution/sql/run_commits.sql``."""

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="commits", db_index=False, db_constraint=False
    )
    number = models.IntegerField(_("number"))
    attempt = models.IntegerField(_("attempt"))
    last_seq = models.BigIntegerField(_("last event"))
    events = VerbatimJSONField(_("events"), null=True)  # [[name, data]]
    intents = VerbatimJSONField(_("intents"), null=True)
    at = models.DateTimeField(_("at"), auto_now_add=True)

    class Meta:
        verbose_name = _("commit of a run")
        verbose_name_plural = _("commits of runs")
        ordering = ["run", "number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "last_seq", "number"], name="run_commit_once")
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.number}"


class RunEvent(JournalModel):
    """An event of a run, from a view over the commits.

    ``seq`` is the id in the event stream: without gaps, from 1, by one writer at a time.
    """

    run = models.ForeignKey(
        Run, on_delete=models.DO_NOTHING, related_name="events", db_constraint=False
    )
    seq = models.BigIntegerField(_("number"))
    name = models.CharField(_("name"), max_length=64)
    data = VerbatimJSONField(_("data"), default=dict)
    at = models.DateTimeField(_("at"), auto_now_add=True)

    class Meta:
        managed = False
        verbose_name = _("run event")
        verbose_name_plural = _("run events")
        ordering = ["run", "seq"]

    def __str__(self) -> str:
        return f"{self.seq} {self.name}"


class StepPart(JournalModel):
    """A finished call of a step that consists of several, such as an agent's. It is never repeated or changed."""

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="parts", db_index=False, db_constraint=False
    )
    node_key = models.CharField(_("node"), max_length=255)
    rounds = ArrayField(models.IntegerField(), verbose_name=_("rounds"), default=list, blank=True)
    part = models.CharField(_("part"), max_length=255)
    attempt = models.IntegerField(_("attempt"), default=1)
    kind = models.CharField(_("kind"), max_length=255)
    status = models.CharField(_("status"), max_length=16)
    inputs = VerbatimJSONField(_("inputs"), default=dict, blank=True)
    outputs = VerbatimJSONField(_("outputs"), default=dict, blank=True)
    started_at = models.FloatField(_("started at"), default=0, help_text=_("Unix seconds."))
    elapsed = models.FloatField(_("seconds"), default=0)
    prompt_tokens = models.BigIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.BigIntegerField(_("completion tokens"), default=0)

    class Meta:
        verbose_name = _("part of a step")
        verbose_name_plural = _("parts of steps")
        ordering = ["run", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "node_key", "rounds", "part"], name="step_part_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.node_key} {self.part}"


class RunPartial(JournalModel):
    """The text that a run has streamed so far, saved at most once a second for readers who join late.

    ``segments``: [node, source, offset, began after event, grew after event, text] in order, see
    ``execution.journal.partials``. A new attempt starts a new text; the old one is superseded, not joined.
    """

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="partials", db_index=False, db_constraint=False
    )
    attempt = models.IntegerField(_("attempt"), default=1)
    segments = VerbatimJSONField(_("segments"), default=list)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name = _("partial text")
        verbose_name_plural = _("partial texts")
        ordering = ["run", "id"]
        constraints = [models.UniqueConstraint(fields=["run"], name="run_partial_once")]

    def __str__(self) -> str:
        return f"{self.run_id} #{self.attempt}"


class StepIntent(JournalModel):
    """A record that a step with an outside effect has begun, from a view over the commits.

    Without a finished step its outcome is unknown. The idempotency key is (run, node, rounds): the next attempt sends the same one.
    """

    run = models.ForeignKey(
        Run, on_delete=models.DO_NOTHING, related_name="intents", db_constraint=False
    )
    node_key = models.CharField(_("node"), max_length=255)
    rounds = ArrayField(models.IntegerField(), verbose_name=_("rounds"), default=list, blank=True)
    attempt = models.IntegerField(_("attempt"))
    idempotency_key = models.CharField(_("idempotency key"), max_length=255)
    # A lost worker had begun the step before, and may have made the call.
    is_repeated = models.BooleanField(_("repeated"), default=False)
    at = models.DateTimeField(_("at"), auto_now_add=True)

    class Meta:
        managed = False
        verbose_name = _("step intent")
        verbose_name_plural = _("step intents")
        ordering = ["run", "id"]

    def __str__(self) -> str:
        return f"{self.node_key} #{self.attempt}"
