"""The limits of what a team, or one of its API keys, may use."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Limited(models.Model):
    """Limits of runs. Null sets none: for a team those of the installation apply, for a key those of its team.

    ``workflows.services.budgets`` checks them when a run starts. Days are those of UTC, as in usage.
    """

    runs_per_day = models.PositiveBigIntegerField(_("runs per day"), null=True, blank=True)
    concurrent_runs = models.PositiveBigIntegerField(
        _("runs at the same time"), null=True, blank=True
    )
    tokens_per_day = models.PositiveBigIntegerField(_("tokens per day"), null=True, blank=True)
    code_seconds_per_day = models.PositiveBigIntegerField(
        _("seconds of code per day"), null=True, blank=True
    )

    class Meta:
        abstract = True


LIMITS = tuple(field.name for field in Limited._meta.fields)
KEY_LIMITS = ("requests_per_minute", *LIMITS)
