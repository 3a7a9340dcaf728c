"""Work that somebody asked for and a worker does: its row is the outbox, so a message that was lost loses nothing."""

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class JobStatus(models.TextChoices):
    WAITING = "waiting", _("Queued")
    RUNNING = "running", _("Running")
    DONE = "done", _("Succeeded")
    FAILED = "failed", _("Failed")


class Job(models.Model):
    """``held_until``: whoever runs it has it for so long; after that it was lost, and anybody may."""

    status = models.CharField(
        _("status"), max_length=8, choices=JobStatus, default=JobStatus.WAITING
    )
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0, editable=False)
    held_until = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def is_over(self) -> bool:
        return self.status in (JobStatus.DONE, JobStatus.FAILED)


def left_behind(now: datetime, unheard_after: timedelta) -> Q:
    """What nobody heard of in time, and what was lost with its worker."""
    unheard = Q(status=JobStatus.WAITING, created_at__lte=now - unheard_after)
    return unheard | Q(status=JobStatus.RUNNING, held_until__lte=now)
