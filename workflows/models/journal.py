"""The rows of a run's journal: events in order, partial text, and effects that have begun.

They are append-only, except for the partial text. They will be partitioned with the runs: see ``run.py``.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from workflows.models.fields import VerbatimJSONField
from workflows.models.run import JournalModel, Run


class RunEvent(JournalModel):
    """An event of a run. ``seq`` is the id in the event stream: without gaps, from 1, by one writer at a time."""

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="events", db_index=False, db_constraint=False
    )
    seq = models.PositiveBigIntegerField(_("number"))
    name = models.CharField(_("name"), max_length=64)
    data = VerbatimJSONField(_("data"), default=dict)
    at = models.DateTimeField(_("at"), auto_now_add=True)

    class Meta:
        verbose_name = _("run event")
        verbose_name_plural = _("run events")
        ordering = ["run", "seq"]
        constraints = [models.UniqueConstraint(fields=["run", "seq"], name="run_event_seq_once")]

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
    attempt = models.PositiveIntegerField(_("attempt"), default=1)
    kind = models.CharField(_("kind"), max_length=255)
    status = models.CharField(_("status"), max_length=16)
    inputs = VerbatimJSONField(_("inputs"), default=dict, blank=True)
    outputs = VerbatimJSONField(_("outputs"), default=dict, blank=True)
    started_at = models.FloatField(_("started at"), default=0, help_text=_("Unix seconds."))
    elapsed = models.FloatField(_("seconds"), default=0)
    prompt_tokens = models.PositiveBigIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.PositiveBigIntegerField(_("completion tokens"), default=0)

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

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="partials", db_index=False)
    attempt = models.PositiveIntegerField(_("attempt"), default=1)
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
    """A record that a step with an outside effect has begun. Without a finished step its outcome is unknown.

    The idempotency key is (run, node, rounds): the next attempt sends the same one.
    """

    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, related_name="intents", db_index=False, db_constraint=False
    )
    node_key = models.CharField(_("node"), max_length=255)
    rounds = ArrayField(models.IntegerField(), verbose_name=_("rounds"), default=list, blank=True)
    attempt = models.PositiveIntegerField(_("attempt"))
    idempotency_key = models.CharField(_("idempotency key"), max_length=255)
    at = models.DateTimeField(_("at"), auto_now_add=True)

    class Meta:
        verbose_name = _("step intent")
        verbose_name_plural = _("step intents")
        ordering = ["run", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "node_key", "rounds", "attempt"], name="step_intent_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.node_key} #{self.attempt}"
