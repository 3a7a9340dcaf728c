"""Curate a run that has ended: store what can be learned from it as memories.

A curation is planned when the run ends and carried out by a worker. The model is called outside of any transaction;
its results and the status of the curation's row are then stored in one. Proposals to change older memories are made
afterwards (``memory.services.review.detection``).
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.request_transaction import without_connection
from accounts.tenancy import reading, tenant
from config.ids import uuid7
from config.redaction import list_forms
from config.retry import retry_on_conflict
from memory.core.errors import AlreadyExists, InvalidInput, NotFound
from memory.core.scopes import resolve_namespace
from memory.embedding.judge import find_judge
from memory.logic.curation import curator as logic
from memory.logic.curation.curator import CurationResult, Curator, split_work
from memory.logic.curation.extractive import ExtractiveCurator
from memory.logic.curation.model_curator import ModelCurator
from memory.logic.curation.work import FinishedWork
from memory.logic.entries.secrets import redact
from memory.logic.ports import AskModel
from memory.models import Curation
from memory.models.jobs import JobStatus
from memory.permissions import get_participant_id
from memory.services.access.pause import is_run_paused
from memory.services.curation.admission import admit_drafts
from memory.services.curation.learning_rules import LearningRule, get_learning_rule
from memory.services.curation.run_texts import list_stored_texts
from memory.services.gateway.caller import CallOrigin, MemoryCaller, select_visible
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import Batch
from memory.services.gateway.run_people import note_writer
from memory.services.job_claims import GRACE_SECONDS, claim_job
from memory.services.review.detection import propose_changes
from memory.tasks import wake_curation
from memory.upkeep.folding import fold_run


log = logging.getLogger(__name__)

CHANGE_REASON = "curation"
MAX_PIECES = 12  # of work that is too long for one prompt
MAX_PROBLEM_LENGTH = 500


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """An ended run as the host describes it. ``ask`` calls the configured model; None if there is none."""

    caller: MemoryCaller
    work: FinishedWork
    ask: AskModel | None = None
    model: str = ""
    known_secrets: tuple[str, ...] = ()


# Describes the run with this id for a curation by its application's rule.
DescribeRun = Callable[[str, LearningRule], FinishedRun]


@dataclass(frozen=True, slots=True)
class _Job:
    """A claimed curation, the run that it is about, and the namespace that it stores into."""

    row: Curation
    run: FinishedRun
    learning: LearningRule
    namespace: str

    @property
    def caller(self) -> MemoryCaller:
        return replace(self.run.caller, origin=CallOrigin(self.row.run_id))


@retry_on_conflict
def plan_curation(caller: MemoryCaller, *, run_id: str, app_id: str) -> UUID | None:
    """Create the curation of a run, once, and return its id.

    Return None if its application doesn't learn from runs, or its person has paused memory.
    """
    learning = get_learning_rule(caller.team_id, app_id)
    if not learning.auto_memory or is_run_paused(caller):
        return None
    reader_ids = {*caller.participants, get_participant_id(caller.principal)} - {None}
    with tenant([caller.team_id]):
        row, is_new = Curation.objects.unscoped().get_or_create(
            team_id=caller.team_id,
            run_id=run_id,
            defaults={
                "app_id": app_id,
                "place": _resolve_namespace(caller, learning),
                "seen_by": sorted(reader_id for reader_id in reader_ids if reader_id),
            },
        )
        if is_new:
            if row.place:  # what goes wrong is told in the row, with words of the run
                note_writer(replace(caller, origin=CallOrigin(run_id)), row.place)
            transaction.on_commit(lambda: wake_curation(caller.team_id, row.pk))
    return row.pk if is_new else None


def curate(team_id: UUID, curation_id: UUID, describe_run: DescribeRun) -> Curation | None:
    """Carry out the curation and return its row, or None if another worker has claimed it or it has ended.

    No error is raised; a failed curation's row says what went wrong.
    """
    row = claim_job(Curation, team_id, curation_id, _get_seconds)
    if row is None:
        return None
    secrets: tuple[str, ...] = ()
    try:
        learning = get_learning_rule(team_id, row.app_id)
        run = describe_run(row.run_id, learning)
        secrets = tuple(form for secret in run.known_secrets for form in list_forms(secret))
        namespace = row.place or resolve_namespace(learning.scope, run.caller.identity)
        stored_texts = list_stored_texts(team_id, row.run_id, namespace)
        work = replace(run.work, stored_texts=(*run.work.stored_texts, *stored_texts))
        job = _Job(row, replace(run, work=work, known_secrets=secrets), learning, namespace)
        with without_connection(is_required=False):  # a model may be slow
            result = asyncio.run(_analyse(job))
        if result.problem:
            return _record_failure(row, result.problem, secrets, curator=result.curator)
        row, keys = _store_result(job, result)
    except Exception as error:  # the run has ended long ago; its curation shows the error
        log.exception("curation_broke", extra={"curation": str(curation_id)})
        return _record_failure(row, f"{type(error).__name__}: {error}", secrets)
    return _propose_changes(job, row, keys)


def list_curations(
    caller: MemoryCaller, *, status: str | None = None, limit: int = 50, offset: int = 0
) -> list[Curation]:
    """Return the curations of the caller's runs and of namespaces that the caller may read, newest first."""
    with reading([caller.team_id]):
        rows = select_visible(caller, Curation)
        if status:
            rows = rows.filter(status=status)
        return list(rows.order_by("-created_at", "-id")[offset : offset + limit])


def find_curation(caller: MemoryCaller, *, run_id: str) -> Curation | None:
    return find_curations(caller, run_ids=[run_id]).get(run_id)


def find_curations(caller: MemoryCaller, *, run_ids: Sequence[str]) -> dict[str, Curation]:
    """Return the curations of these runs by run id, as far as the caller may read them."""
    with reading([caller.team_id]):
        rows = select_visible(caller, Curation)
        return {row.run_id: row for row in rows.filter(run_id__in=run_ids)}


@retry_on_conflict
def retry_curation(caller: MemoryCaller, *, curation_id: UUID) -> Curation:
    """Queue a failed curation again. Raise AlreadyExists if it has another status."""
    with tenant([caller.team_id]):
        rows = select_visible(caller, Curation)
        row = rows.select_for_update().filter(pk=curation_id).first()
        if row is None or not caller.principal.allows("memory:write"):
            raise NotFound(_("Curation not found."))
        if row.status != JobStatus.FAILED:
            raise AlreadyExists(_("Only failed curations can be retried."))
        row.status, row.attempts, row.problem = JobStatus.WAITING, 0, ""
        row.save(update_fields=["status", "attempts", "problem"])
        transaction.on_commit(lambda: wake_curation(caller.team_id, row.pk))
    return row


def _resolve_namespace(caller: MemoryCaller, learning: LearningRule) -> str:
    """Return the namespace, or "" if the run lacks an id that the scope needs, for which its curation will fail."""
    try:
        return resolve_namespace(learning.scope, caller.identity)
    except InvalidInput:
        return ""


def _get_seconds(row: Curation) -> float:
    return get_learning_rule(row.team_id, row.app_id).seconds + GRACE_SECONDS


async def _analyse(job: _Job) -> CurationResult:
    """Analyse the work, in pieces if it is too long for one prompt. If one piece fails, the whole analysis does."""
    run, learning, judge = job.run, job.learning, find_judge()
    curator: Curator = ExtractiveCurator(judge)
    pieces = [run.work]
    if run.ask is not None:
        curator = ModelCurator(run.ask, run.model or "model", learning.token_budget)
        # Half of a prompt is for outputs, including their separators.
        pieces = split_work(run.work, max(1, learning.token_budget * 2 // 5))
    deadline = time.monotonic() + learning.seconds
    result = CurationResult((), curator.name)
    for number, piece in enumerate(pieces[:MAX_PIECES]):
        piece_result = await logic.curate(
            piece,
            curator,
            namespace=job.namespace,
            new_id=lambda: str(uuid7()),
            known_secrets=run.known_secrets,
            seconds=max(0.01, deadline - time.monotonic()),
            judge=judge,
        )
        if piece_result.problem:
            return piece_result
        # A run has one summary, and another only if it has solutions.
        drafts = [
            draft
            for draft in piece_result.drafts
            if number == 0 or draft.category != "execution" or "solutions" in draft.value
        ]
        repairs = dict.fromkeys([*result.repairs, *piece_result.repairs])
        result = replace(
            result,
            drafts=(*result.drafts, *drafts),
            repairs=tuple(repairs),
            dropped=(*result.dropped, *piece_result.dropped),
        )
    if len(pieces) > MAX_PIECES:
        note = f"{len(pieces) - MAX_PIECES} pieces left unread"
        result = replace(result, repairs=(*result.repairs, note))
    return result


@retry_on_conflict
def _store_result(job: _Job, result: CurationResult) -> tuple[Curation, Sequence[str]]:
    """Store the entries and the curation's status in one transaction. Return the row and the keys of the entries."""
    with open_namespace(job.caller, "write", "memory.curated", namespace=job.namespace) as access:
        batch = Batch(access, CHANGE_REASON)
        admission = admit_drafts(
            access,
            batch,
            result,
            run_id=job.row.run_id,
            learning=job.learning,
            known_secrets=job.run.known_secrets,
        )
        row = _lock_running(job.row)
        if row is None:
            raise AlreadyExists("Another worker has taken over this curation.")
        row.status, row.finished_at = JobStatus.DONE, access.now
        row.place, row.curator, row.repairs = job.namespace, result.curator, list(result.repairs)
        outcomes = Counter(map(str, [*admission.outcomes, *result.dropped]))
        row.counts = {**outcomes, "proposed": admission.proposed}
        row.change_id = batch.change_id
        row.save()
        change = str(batch.change_id)
        access.detail.update(curation=str(row.pk), change=change, keys=admission.stored)
        return row, admission.keys


def _propose_changes(job: _Job, row: Curation, keys: Sequence[str]) -> Curation:
    """Fold what the run repeated, and propose changes of older entries. Return the updated row.

    A failure is stored in the row and not raised.
    """
    try:
        fold_run(row.team_id, row.run_id, timezone.now())
        count = propose_changes(
            job.caller, namespace=job.namespace, keys=keys, run_id=row.run_id, learning=job.learning
        )
    except Exception as error:  # shown in the row
        log.exception("noticing_broke", extra={"curation": str(row.pk)})
        problem = f"{type(error).__name__}: {error}"
        row.problem = _redact_problem(problem, job.run.known_secrets)
    else:
        row.counts = {**row.counts, "proposed": row.counts.get("proposed", 0) + count}
    with tenant([row.team_id]):
        row.save(update_fields=["problem", "counts"])
    return row


def _record_failure(
    curation: Curation, problem: str, secrets: tuple[str, ...], *, curator: str = ""
) -> Curation | None:
    """Mark the curation as failed and return its row, or None if another worker has claimed it since."""
    with tenant([curation.team_id]):
        row = _lock_running(curation)
        if row is None:
            return None
        row.status, row.finished_at = JobStatus.FAILED, timezone.now()
        row.problem, row.curator = _redact_problem(problem, secrets), curator
        row.save(update_fields=["status", "finished_at", "problem", "curator"])
    return row


def _lock_running(curation: Curation) -> Curation | None:
    """Lock and return the row, or None if another worker has claimed it since."""
    row = Curation.objects.unscoped().select_for_update().get(pk=curation.pk)
    is_ours = row.status == JobStatus.RUNNING and row.attempts == curation.attempts
    return row if is_ours else None


def _redact_problem(problem: str, secrets: tuple[str, ...]) -> str:
    return str(redact(problem, secrets).value)[:MAX_PROBLEM_LENGTH]
