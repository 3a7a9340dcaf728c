"""Order, read and retry wiki jobs, which ask a model in the background; ``job_worker`` carries them out.

Whoever asks needs the permission then, and again when a worker carries out the job in their name. Without a model
there is no job: the rules answer at once.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.principals import get_key_id
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AlreadyExists, NotFound
from memory.logic.knowledge.pages import from_entry
from memory.logic.wiki.compilation import check_sources
from memory.models import Namespace, WikiJob
from memory.models.jobs import JobStatus
from memory.models.wiki_jobs import WikiTask
from memory.permissions import Verb
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import authorize, open_entry
from memory.services.knowledge.pages import get_page_entry
from memory.services.wiki.inspect import find_model, get_overview
from memory.tasks import wake_wiki_job


KEEP_DONE_JOBS: Final = timedelta(days=7)

_VERBS: Final[Mapping[str, Verb]] = {
    WikiTask.COMPILE: "write",
    WikiTask.COMPILE_PAGE: "write",
    WikiTask.LINT: "view",
}


def order_compilation(caller: MemoryCaller, *, namespace: str) -> WikiJob | None:
    """Order that the stale pages are compiled with the model, or return the job that is doing it.

    Return None if nothing is stale or no model is set: the rules need no job.
    """
    authorize(caller, "write", "memory.edited", namespace=namespace)
    if find_model(caller, namespace)[1] is None:
        return None
    if not get_overview(caller, namespace=namespace).stale:
        return None
    return _order(caller, namespace, WikiTask.COMPILE)


@retry_on_conflict
def order_page_compilation(caller: MemoryCaller, *, entry_id: UUID | str) -> WikiJob | None:
    """Order that the page is compiled with the model, or return the job that is doing it; None without a model.

    Raise InvalidInput for a page without sources.
    """
    with open_entry(caller, "write", "memory.listed", entry_id) as access:
        check_sources(from_entry(get_page_entry(access, entry_id)))
        access.detail.update(entry=str(entry_id), keys=1)
        namespace = access.text
    if find_model(caller, namespace)[1] is None:
        return None
    return _order(caller, namespace, WikiTask.COMPILE_PAGE, UUID(str(entry_id)))


def order_lint(caller: MemoryCaller, *, namespace: str) -> WikiJob | None:
    """Order that the model looks for contradictions, or return the job that is doing it; None without a model."""
    authorize(caller, "view", "memory.listed", namespace=namespace)
    if find_model(caller, namespace)[1] is None:
        return None
    return _order(caller, namespace, WikiTask.LINT)


def get_wiki_job(caller: MemoryCaller, *, job_id: UUID) -> WikiJob:
    """Return the job. Whoever may view its namespace may view the job."""
    with tenant([caller.team_id]):
        row = WikiJob.objects.unscoped().select_related("namespace")
        job = row.filter(team_id=caller.team_id, pk=job_id).first()
    if job is None:
        raise NotFound(_("Job not found."))
    authorize(caller, "view", "memory.listed", namespace=job.namespace.text)
    return job


def find_newest_jobs(
    caller: MemoryCaller, *, namespace_id: UUID, entry_id: UUID | None = None
) -> dict[str, WikiJob]:
    """Return the newest job of each task of the namespace, or of the page, by task. The caller may view it."""
    with tenant([caller.team_id]):
        rows = WikiJob.objects.unscoped().filter(
            team_id=caller.team_id, namespace_id=namespace_id, entry_id=entry_id
        )
        oldest_first = rows.order_by("created_at", "id").select_related("namespace")
        return {row.task: row for row in oldest_first}


@retry_on_conflict
def retry_wiki_job(caller: MemoryCaller, *, job_id: UUID) -> WikiJob:
    """Queue a job again that failed, or whose pages the rules compiled because the model failed.

    It is then carried out in the name of the caller. Raise AlreadyExists if nothing failed.
    """
    job = get_wiki_job(caller, job_id=job_id)
    authorize(caller, _VERBS[job.task], "memory.edited", namespace=job.namespace.text)
    if job.status != JobStatus.FAILED and not get_problem(job):
        raise AlreadyExists(_("Only failed jobs can be retried."))
    pages = job.pages
    if job.status == JobStatus.DONE:
        pages = [page["entry"] for page in _list_pages(job) if page["problem"]]
    return _create(caller, job.namespace, job.task, job.entry_id, pages)


def get_problem(job: WikiJob) -> str:
    """Return why the job failed, or why its model did not answer; empty if neither happened."""
    problems: Iterable[Any] = (page["problem"] for page in _list_pages(job))
    return job.problem or job.result.get("problem") or next(filter(None, problems), "")


def _list_pages(job: WikiJob) -> list[dict[str, Any]]:  # Any: JSON
    return list(job.result.get("pages", ()))


@retry_on_conflict
def _order(
    caller: MemoryCaller, namespace: str, task: WikiTask, entry_id: UUID | None = None
) -> WikiJob | None:
    with tenant([caller.team_id]):
        rows = Namespace.objects.unscoped().filter(team_id=caller.team_id, text=namespace)
        row = rows.first()
    return _create(caller, row, task, entry_id) if row else None


def _create(
    caller: MemoryCaller,
    namespace: Namespace,
    task: str,
    entry_id: UUID | None,
    pages: Iterable[str] = (),
) -> WikiJob:
    with tenant([caller.team_id]):
        same = WikiJob.objects.unscoped().filter(
            team_id=caller.team_id, namespace=namespace, task=task, entry_id=entry_id
        )
        if (running := _select_open(same).first()) is not None:
            return running
        old = WikiJob.objects.unscoped().filter(team_id=caller.team_id, namespace=namespace)
        old.filter(finished_at__lt=timezone.now() - KEEP_DONE_JOBS).delete()
        try:
            with transaction.atomic():
                job: WikiJob = WikiJob.objects.unscoped().create(
                    team_id=caller.team_id,
                    namespace=namespace,
                    task=task,
                    entry_id=entry_id,
                    pages=list(pages),
                    asked_by=caller.principal.user_id,
                    asked_with_key=get_key_id(caller.principal),
                )
        except IntegrityError:  # somebody else asked at the same moment
            return same.order_by("-created_at", "-id")[0]
        transaction.on_commit(lambda: wake_wiki_job(caller.team_id, job.pk))
        return job


def _select_open(rows: "QuerySet[WikiJob]") -> "QuerySet[WikiJob]":
    return rows.filter(status__in=(JobStatus.WAITING, JobStatus.RUNNING))
