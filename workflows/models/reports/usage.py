"""Usage per day, counted once when a run has ended. It is kept when the runs themselves are deleted.

``workflows.execution.usage`` defines the numbers and writes the rows. They refer to workflows and API keys by ids without
foreign keys, because usage outlives both. Erasing a person empties ``subject`` (``workflows.services.erasure``).
"""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel


class DailyUsage(TenantModel):
    """A row of either table counts these: a day, a workflow, a caller, a channel, and a class of latency."""

    workflow_lookup = "workflow_id"

    day = models.DateField(_("day"), help_text=_("In UTC: the day on which the run was created."))
    # Null for calls of models outside of workflows, as for the embedding of memories.
    workflow_id = models.UUIDField(_("workflow"), null=True, blank=True)
    api_key_id = models.UUIDField(_("API key"), null=True, blank=True)
    subject = models.CharField(_("subject"), max_length=255, blank=True)
    # A value of ``models.run.Channel``, without choices, so that a new channel needs no migration here. It is empty for
    # runs from before it was counted.
    channel = models.CharField(_("channel"), max_length=12, blank=True, db_default="")
    # The bucket of ``execution.usage.numbers``, or -1 for what has no latency.
    latency_bucket = models.SmallIntegerField(_("latency bucket"), default=-1)
    failed = models.PositiveBigIntegerField(_("failed"), default=0)
    seconds = models.FloatField(_("seconds"), default=0, help_text=_("Of what has a latency."))

    class Meta:
        abstract = True


class RunUsage(DailyUsage):
    """The runs of a day that people, API clients and triggers started. Sub-workflows are not among them."""

    runs = models.PositiveBigIntegerField(_("runs"), default=0)
    stopped = models.PositiveBigIntegerField(_("stopped"), default=0)
    # Of code nodes, those of sub-workflows included.
    code_seconds = models.FloatField(_("seconds of code"), default=0, db_default=0)

    class Meta:
        verbose_name = _("usage of runs")
        verbose_name_plural = _("usage of runs")
        ordering = ["day", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    *("team", "day", "workflow_id", "subject", "api_key_id", "channel"),
                    "latency_bucket",
                ],
                nulls_distinct=False,
                name="run_usage_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.workflow_id}"


class ModelUsage(DailyUsage):
    """The model calls of a day, those of sub-workflows included. ``provider`` is the one that answered."""

    provider = models.CharField(_("provider"), max_length=255, blank=True)
    model = models.CharField(_("model"), max_length=255, blank=True)
    calls = models.PositiveBigIntegerField(_("calls"), default=0)
    prompt_tokens = models.PositiveBigIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.PositiveBigIntegerField(_("completion tokens"), default=0)
    cost = models.FloatField(_("cost"), default=0, help_text=_("USD"))
    # Calls with tokens whose model had no price, so that the cost is incomplete.
    unpriced_calls = models.PositiveBigIntegerField(_("calls without a price"), default=0)

    class Meta:
        verbose_name = _("usage of models")
        verbose_name_plural = _("usage of models")
        ordering = ["day", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    *("team", "day", "workflow_id", "subject", "api_key_id", "channel"),
                    *("latency_bucket", "provider", "model"),
                ],
                nulls_distinct=False,
                name="model_usage_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.provider}/{self.model}"
