"""The notices of wiki jobs: that a model is at work, what became of it, and how to try again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from memory import services
from memory.core.errors import AlreadyExists
from memory.logic.wiki.lint import LintFinding, LintKind
from memory.models import WikiJob
from memory.models.jobs import JobStatus
from memory.models.wiki_jobs import WikiTask
from memory.services import KnowledgeBase
from memory.views.request_context import build_caller, is_allowed


SHOW_DONE_FOR: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class JobNotice:
    """This is the text of a page about a job. ``problem`` says why it failed, or why its model did not answer."""

    job: WikiJob
    title: str
    text: str = ""
    problem: str = ""
    may_retry: bool = False


def find_notices(
    request: HttpRequest, namespace_id: UUID, entry_id: UUID | None = None
) -> Sequence[JobNotice]:
    """Build the notices of the newest jobs that are at work, went wrong, or ended a short time ago."""
    jobs = services.find_newest_jobs(
        build_caller(request), namespace_id=namespace_id, entry_id=entry_id
    )
    visible_jobs = [job for job in jobs.values() if _is_shown(job)]
    return [build_notice(request, job) for job in visible_jobs]


def find_model_findings(
    request: HttpRequest, namespace_id: UUID, base: KnowledgeBase
) -> list[LintFinding]:
    """Return what the model found when it was last asked, as far as its pages have not changed since."""
    jobs = services.find_newest_jobs(build_caller(request), namespace_id=namespace_id)
    job = jobs.get(WikiTask.LINT)
    if job is None:
        return []
    revisions = {page.id: page.revision for page in base.pages}
    return [
        LintFinding(LintKind(row["kind"]), row["page_id"], row["other"], row["detail"])
        for row in job.result.get("findings", ())
        if row["revisions"] == [revisions.get(row["page_id"]), revisions.get(row["other"])]
    ]


def build_notice(request: HttpRequest, job: WikiJob) -> JobNotice:
    is_lint = job.task == WikiTask.LINT
    if not job.is_over:
        title = _("Checking with the model…") if is_lint else _("Compiling…")
        return JobNotice(
            job, title, _("You can leave this page; the result is shown here when it is there.")
        )
    problem = services.get_problem(job)
    may_retry = bool(problem) and is_allowed(request, "view" if is_lint else "write", job.namespace)
    if job.status == JobStatus.FAILED:
        title = _("Not checked with the model") if is_lint else _("Not compiled anew")
        return JobNotice(job, title, problem=problem, may_retry=may_retry)
    if problem:
        problem = _("The model did not answer: %(why)s") % {"why": problem}
    if is_lint:
        title = _("Checked by rules only") if problem else _build_lint_title(job)
        return JobNotice(job, title, problem=problem, may_retry=may_retry)
    pages: list[dict[str, Any]] = job.result.get("pages", [])  # Any: JSON
    title = ngettext(
        "%(count)s page compiled anew.", "%(count)s pages compiled anew.", len(pages)
    ) % {"count": len(pages)}
    is_held = any(page["held_for"] for page in pages)
    text = _("A page waits for a review before it is used.") if is_held else ""
    return JobNotice(job, title, text, problem, may_retry)


@login_required
@require_safe
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the notice of a job, which asks again until the job is over."""
    job = services.get_wiki_job(build_caller(request), job_id=job_id)
    if not getattr(request, "htmx", False):
        return _go_to_page(job)
    context = {"notice": build_notice(request, job), "is_fragment": True}
    return render(request, "memory/knowledge/_wiki_job.html", context)


@login_required
@require_POST
def retry(request: HttpRequest, job_id: UUID) -> HttpResponse:
    try:
        job = services.retry_wiki_job(build_caller(request), job_id=job_id)
    except AlreadyExists as fault:
        messages.error(request, str(fault))
        job = services.get_wiki_job(build_caller(request), job_id=job_id)
    return _go_to_page(job)


def _build_lint_title(job: WikiJob) -> str:
    return _("%(model)s looked for contradictions, too.") % {"model": job.result.get("model", "")}


def _is_shown(job: WikiJob) -> bool:
    if not job.is_over or job.finished_at is None or services.get_problem(job):
        return True
    return job.finished_at > timezone.now() - SHOW_DONE_FOR


def _go_to_page(job: WikiJob) -> HttpResponse:
    if job.entry_id:
        return redirect("memory:knowledge_page", entry_id=job.entry_id)
    return redirect("memory:knowledge_wiki", namespace_id=job.namespace_id)
