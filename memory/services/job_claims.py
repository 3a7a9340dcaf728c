"""Claim a job for one worker, act with the rights of whoever asked for it, and change it as long as it is claimed."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.errors import AccountsFault
from accounts.principals import load_starter
from accounts.tenancy import tenant
from memory.core.errors import AccessDenied, MemoryFault
from memory.models import Curation, DocumentUpload, WikiJob
from memory.models.jobs import JobStatus
from memory.services.gateway.caller import MemoryCaller


log = logging.getLogger(__name__)

J = TypeVar("J", Curation, WikiJob, DocumentUpload)

MAX_ATTEMPTS: Final = 3
GRACE_SECONDS: Final = 60  # for reading and storing, in addition to the time of a model


class JobTakenOver(Exception):
    """Another worker has this job, because this one took too long."""


def claim_job(
    model: type[J],
    team_id: UUID,
    job_id: UUID,
    get_seconds: Callable[[J], float] = lambda _job: GRACE_SECONDS,
) -> J | None:
    """Lock the job and count the attempt. Return None if it has ended, is claimed, or has no attempts left.

    Another worker may claim it after the seconds that ``get_seconds`` returns.
    """
    now = timezone.now()
    with tenant([team_id]):
        rows: Any = model.objects  # Any: the managers of three models
        matches = rows.unscoped().filter(team_id=team_id, pk=job_id)
        job: J | None = matches.select_for_update(skip_locked=True, of=("self",)).first()
        if job is None or not _is_claimable(job, now):
            return None
        job.attempts += 1
        if job.attempts > MAX_ATTEMPTS:
            job.status, job.finished_at = JobStatus.FAILED, now
            job.problem = _("The worker was lost %(count)s times.") % {"count": MAX_ATTEMPTS}
        else:
            job.status = JobStatus.RUNNING
            job.held_until = now + timedelta(seconds=get_seconds(job))
        job.save()
        getattr(job, "namespace", None)  # loaded here, where the team's rows are visible
    return job if job.status == JobStatus.RUNNING else None


def load_caller(job: WikiJob | DocumentUpload) -> MemoryCaller:
    principal = load_starter(team_id=job.team_id, user_id=job.asked_by, key_id=job.asked_with_key)
    if principal is None:
        raise AccessDenied(_("Whoever asked for it no longer has access."))
    return MemoryCaller(principal, job.team_id)


def update_job(job: WikiJob | DocumentUpload, **changes: Any) -> None:  # Any: values of the columns
    """Change the row, or raise JobTakenOver if it has been claimed by another worker or erased meanwhile."""
    with tenant([job.team_id]):
        rows: Any = type(job).objects  # as above
        claim = rows.unscoped().filter(pk=job.pk, status=JobStatus.RUNNING, attempts=job.attempts)
        if not claim.update(**changes):
            raise JobTakenOver


@contextmanager
def store_failure(job: WikiJob | DocumentUpload) -> Iterator[None]:
    """Store an error of the block in the row instead of raising it, because nobody waits for the job."""
    subject = {"job": str(job.pk), "kind": job._meta.model_name}
    try:
        yield
    except JobTakenOver:
        log.warning("job_taken_over", extra=subject)
    except Exception as error:
        problem = _("Something went wrong on the server.")
        if isinstance(error, MemoryFault | AccountsFault):
            problem = str(error)[:500]
        else:
            log.exception("job_failed", extra=subject)
        with suppress(JobTakenOver):  # the other worker stores what becomes of it
            update_job(job, status=JobStatus.FAILED, problem=problem, finished_at=timezone.now())


def _is_claimable(job: Curation | WikiJob | DocumentUpload, now: datetime) -> bool:
    if job.status == JobStatus.WAITING:
        return True
    is_lost = job.held_until is None or job.held_until <= now
    return job.status == JobStatus.RUNNING and is_lost
