"""The workers that are there, as they report themselves."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Worker(models.Model):
    """A worker process. It belongs to no team, because it executes the runs of all. Times are the database's."""

    name = models.CharField(_("name"), primary_key=True, max_length=200)
    started_at = models.DateTimeField(_("started at"))
    seen_at = models.DateTimeField(_("seen at"))
    capacity = models.PositiveIntegerField(_("capacity"), help_text=_("Concurrent runs."))
    running = models.PositiveIntegerField(_("running"), default=0)

    class Meta:
        verbose_name = _("worker")
        verbose_name_plural = _("workers")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
