"""Counts of failed sign-ins, by which the next attempt is delayed. They contain no address of a person in plain text."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class SignInFailures(models.Model):
    """The recent failures of a person's email address, a network, both together, or a known device.

    ``key`` is a keyed hash of these. Rows belong to no team and are deleted a day after the last failure.
    """

    key = models.CharField(_("key"), max_length=64, primary_key=True)
    count = models.PositiveIntegerField(_("failures"), default=0)
    last_at = models.DateTimeField(_("last failure"), db_index=True)

    class Meta:
        verbose_name = _("failed sign-ins")
        verbose_name_plural = _("failed sign-ins")
        ordering = ("-last_at", "key")

    def __str__(self) -> str:
        return f"{self.key[:8]}: {self.count}"
