"""The base of models whose rows are jobs for a worker. The rows are the queue, so that a lost message loses no work."""

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
    """A job. Until ``held_until`` it belongs to the worker that runs it; after that it counts as abandoned."""

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


def build_abandoned_condition(now: datetime, overdue_after: timedelta) -> Q:
    """Return the condition for jobs that no worker took within ``overdue_after``, or whose worker disappeared."""
    waited_too_long = Q(status=JobStatus.WAITING, created_at__lte=now - overdue_after)
    return waited_too_long | Q(status=JobStatus.RUNNING, held_until__lte=now)
