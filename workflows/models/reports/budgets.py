"""The starts of runs per day, for the limits of teams and API keys."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.tenancy import TenantModel


class StartCount(TenantModel):
    """The runs that a team, or one of its keys, has started on a day. Only where a limit is set, a row exists.

    Deleting runs doesn't give back starts. A start locks the row until its transaction ends.
    """

    workflow_lookup = None

    day = models.DateField(_("day"), help_text=_("In UTC."))
    api_key_id = models.UUIDField(_("API key"), null=True, blank=True)  # null: the whole team
    runs = models.PositiveBigIntegerField(_("runs"), default=0)

    class Meta:
        verbose_name = _("count of starts")
        verbose_name_plural = _("counts of starts")
        ordering = ["-day", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "api_key_id", "day"],
                nulls_distinct=False,
                name="start_count_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.runs}"
