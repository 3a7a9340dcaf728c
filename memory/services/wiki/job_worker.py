"""Carry out a wiki job with the present rights of whoever asked for it, and store its outcome in its row.

What is done is stored page by page, so that the next worker goes on where a lost one stopped.
"""

from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from memory.models import WikiJob
from memory.models.jobs import JobStatus
from memory.models.wiki_jobs import WikiTask
from memory.services.gateway.caller import MemoryCaller
from memory.services.job_claims import (
    GRACE_SECONDS,
    claim_job,
    load_caller,
    store_failure,
    update_job,
)
from memory.services.wiki.compiling import MAX_AT_ONCE, Compilation, compile_page
from memory.services.wiki.inspect import find_model, get_overview, lint_wiki


def carry_out_wiki_job(team_id: UUID, job_id: UUID) -> None:
    """Claim and carry out the job, unless another worker has it or it has ended. No error is raised."""
    job = claim_job(WikiJob, team_id, job_id)
    if job is None:
        return
    with store_failure(job):
        caller = load_caller(job)
        carry_out = _lint if job.task == WikiTask.LINT else _compile
        result = carry_out(caller, job)
        update_job(job, status=JobStatus.DONE, result=result, finished_at=timezone.now())


def _compile(caller: MemoryCaller, job: WikiJob) -> dict[str, Any]:  # Any: JSON
    """Compile the pages one after the other. The pages that a lost worker compiled are in ``result`` already."""
    results: list[dict[str, Any]] = list(job.result.get("pages", ()))
    compiled_ids = {result["entry"] for result in results}
    for entry_id in _list_entries(caller, job):
        if entry_id not in compiled_ids:
            _hold(caller, job, {"pages": results})
            results.append(_describe(entry_id, compile_page(caller, entry_id=entry_id)))
    return {"pages": results}


def _list_entries(caller: MemoryCaller, job: WikiJob) -> list[str]:
    if job.pages or job.entry_id:
        return list(job.pages) or [str(job.entry_id)]
    overview = get_overview(caller, namespace=job.namespace.text)
    page_ids = dict.fromkeys(stale.page_id for stale in overview.stale)
    entries = overview.knowledge_base.entries
    return [str(entries[page_id].id) for page_id in page_ids][:MAX_AT_ONCE]


def _describe(entry_id: str, compilation: Compilation) -> dict[str, Any]:  # Any: JSON
    return {
        "entry": entry_id,
        "revision": compilation.view.page.revision,
        "by": compilation.by,
        "problem": compilation.problem,
        "held_for": list(compilation.held_for),
    }


def _lint(caller: MemoryCaller, job: WikiJob) -> dict[str, Any]:  # Any: JSON
    """Return what the model found, with the revisions of the pages that it read."""
    _hold(caller, job, {})
    report = lint_wiki(caller, namespace=job.namespace.text, use_model=True)
    revisions = {page.id: page.revision for page in report.overview.knowledge_base.pages}
    findings = [
        {
            **{name: str(value) for name, value in asdict(finding).items()},
            "revisions": [revisions.get(finding.page_id), revisions.get(finding.other)],
        }
        for finding in report.by_model
    ]
    return {"findings": findings, "model": report.model, "problem": report.problem}


def _hold(caller: MemoryCaller, job: WikiJob, result: dict[str, Any]) -> None:  # Any: JSON
    """Keep the job until the model must have answered, and store what is done."""
    _, _, learning = find_model(caller, job.namespace.text)
    seconds = (learning.seconds if learning else 0) + GRACE_SECONDS
    update_job(job, result=result, held_until=timezone.now() + timedelta(seconds=seconds))
