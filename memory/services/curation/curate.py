"""Curation of a run that has ended: planned when it ends, done in the background, its failures in its row.

A model is asked outside of any transaction; what it said is stored in one, all or nothing, with the
row that says so. What it seems to change of what was known is looked for afterwards (``noticing``).
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.ids import uuid7
from config.redaction import list_forms
from config.retry import retry_on_conflict
from memory.core.errors import AlreadyExists, InvalidInput, NotFound
from memory.core.records import StoreParams
from memory.core.scopes import resolve_namespace
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
from memory.services.curation.admission import admit
from memory.services.curation.learning_rules import Learning, learning_of
from memory.services.curation.run_texts import written_in
from memory.services.gateway.caller import CallOrigin, MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import Batch
from memory.services.review.detection import propose_changes
from memory.tasks import wake_curation


log = logging.getLogger(__name__)

RULE = "curation"
MOST_ATTEMPTS = 3
MOST_PIECES = 12  # of work too long for one prompt
GRACE = 60  # seconds for storing, beyond those for thinking
LONGEST_PROBLEM = 500


@dataclass(frozen=True, slots=True)
class Finished:
    """What the runs' app knows of one that has ended; ``ask`` is the configured model, if there is one."""

    caller: MemoryCaller
    work: FinishedWork
    ask: AskModel | None = None
    model: str = ""
    known_secrets: tuple[str, ...] = ()


# A run's id and its application's rule → what it was about.
Gather = Callable[[str, Learning], Finished]


@retry_on_conflict
def plan_curation(caller: MemoryCaller, *, run_id: str, app_id: str) -> UUID | None:
    """The row of a run to be curated, once; none where its application doesn't learn from its runs, or
    whom the run was for paused remembering."""
    learning = learning_of(caller.team_id, app_id)
    if not learning.auto_memory or is_run_paused(caller):
        return None
    known = {*caller.participants, get_participant_id(caller.principal)} - {None}
    with tenant([caller.team_id]):
        row, made = Curation.objects.unscoped().get_or_create(
            team_id=caller.team_id,
            run_id=run_id,
            defaults={
                "app_id": app_id,
                "place": _place(caller, learning),
                "seen_by": sorted(one for one in known if one),
            },
        )
        if made:
            transaction.on_commit(lambda: wake_curation(caller.team_id, row.pk))
    return row.pk if made else None


def curate(team_id: UUID, curation_id: UUID, gather: Gather) -> Curation | None:
    """Raises nothing: whatever goes wrong stands in the row. None: somebody else has it, or it is over."""
    held = _hold(team_id, curation_id)
    if held is None:
        return None
    secrets: tuple[str, ...] = ()
    try:
        learning = learning_of(team_id, held.app_id)
        finished = gather(held.run_id, learning)
        secrets = tuple(form for secret in finished.known_secrets for form in list_forms(secret))
        finished = replace(finished, known_secrets=secrets)
        place = held.place or resolve_namespace(learning.scope, finished.caller.identity)
        finished = replace(finished, work=_with_written(finished.work, held, place))
        curated = asyncio.run(_analysed(finished, learning, place))
        if curated.problem:
            return _failed(held, curated.problem, secrets, by=curated.by)
        stored = _stored(held, finished, learning, place, curated)
    except Exception as error:  # the run is long over; its curation says what happened
        log.exception("curation_broke", extra={"curation": str(curation_id)})
        return _failed(held, f"{type(error).__name__}: {error}", secrets)
    return _noticed(held, finished, learning, place, stored, secrets)


def curations(
    caller: MemoryCaller, *, status: str | None = None, limit: int = 50, offset: int = 0
) -> list[Curation]:
    """Newest first: those of one's own runs, and of namespaces one may look into."""
    with tenant([caller.team_id]):
        found = Curation.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        if status:
            found = found.filter(status=status)
        return list(found.order_by("-created_at", "-id")[offset : offset + min(limit, 200)])


def curation_of(caller: MemoryCaller, *, run_id: str) -> Curation | None:
    return curations_of(caller, run_ids=[run_id]).get(run_id)


def curations_of(caller: MemoryCaller, *, run_ids: Sequence[str]) -> dict[str, Curation]:
    """By run, where there is one the asker may see."""
    with tenant([caller.team_id]):
        found = Curation.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        return {row.run_id: row for row in found.filter(run_id__in=run_ids)}


@retry_on_conflict
def retry_curation(caller: MemoryCaller, *, curation_id: UUID) -> Curation:
    """Once more, for one that failed."""
    with tenant([caller.team_id]):
        seen = Curation.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        row = seen.select_for_update().filter(pk=curation_id).first()
        if row is None:
            raise NotFound(_("Curation not found."))
        if not caller.principal.allows("memory:write"):
            raise NotFound(_("Curation not found."))
        if row.status != JobStatus.FAILED:
            raise AlreadyExists(_("Only failed curations can be retried."))
        row.status, row.attempts, row.problem = JobStatus.WAITING, 0, ""
        row.save(update_fields=["status", "attempts", "problem"])
        transaction.on_commit(lambda: wake_curation(caller.team_id, row.pk))
    return row


def _place(caller: MemoryCaller, learning: Learning) -> str:
    """Nowhere, where the run lacks what its scope needs; its curation says so."""
    try:
        return resolve_namespace(learning.scope, caller.identity)
    except InvalidInput:
        return ""


def _hold(team_id: UUID, curation_id: UUID) -> Curation | None:
    now = timezone.now()
    with tenant([team_id]):
        rows = Curation.objects.unscoped().filter(team_id=team_id, pk=curation_id)
        row = rows.select_for_update(skip_locked=True).first()
        if row is None or not _is_free(row, now):
            return None
        row.attempts += 1
        if row.attempts > MOST_ATTEMPTS:
            row.status, row.finished_at = JobStatus.FAILED, now
            row.problem = f"The worker was lost {MOST_ATTEMPTS} times."
        else:
            seconds = learning_of(team_id, row.app_id).seconds + GRACE
            row.status, row.held_until = JobStatus.RUNNING, now + timedelta(seconds=seconds)
        row.save()
    return row if row.status == JobStatus.RUNNING else None


def _is_free(row: Curation, now: datetime) -> bool:
    if row.status == JobStatus.WAITING:
        return True
    lost = row.held_until is None or row.held_until <= now
    return row.status == JobStatus.RUNNING and lost


def _with_written(work: FinishedWork, held: Curation, place: str) -> FinishedWork:
    return replace(
        work, stored_texts=(*work.stored_texts, *written_in(held.team_id, held.run_id, place))
    )


async def _analysed(finished: Finished, learning: Learning, place: str) -> CurationResult:
    """Piece by piece where it is too long for one prompt; one piece that can't be read spoils it all."""
    curator: Curator = ExtractiveCurator()
    pieces = [finished.work]
    if finished.ask is not None:
        curator = ModelCurator(finished.ask, finished.model or "model", learning.token_budget)
        # Half of a prompt is for outputs; what separates them costs something, too.
        pieces = split_work(finished.work, max(1, learning.token_budget * 2 // 5))
    until = time.monotonic() + learning.seconds
    whole = CurationResult((), curator.name)
    for number, piece in enumerate(pieces[:MOST_PIECES]):
        found = await logic.curate(
            piece,
            curator,
            namespace=place,
            new_id=lambda: str(uuid7()),
            known_secrets=finished.known_secrets,
            seconds=max(0.01, until - time.monotonic()),
        )
        if found.problem:
            return found
        drafts = found.drafts if number == 0 else tuple(filter(_says_more, found.drafts))
        repairs = tuple(dict.fromkeys([*whole.repairs, *found.repairs]))
        whole = replace(whole, drafts=(*whole.drafts, *drafts), repairs=repairs)
    if len(pieces) > MOST_PIECES:
        unread = f"{len(pieces) - MOST_PIECES} pieces left unread"
        whole = replace(whole, repairs=(*whole.repairs, unread))
    return whole


def _says_more(draft: StoreParams) -> bool:
    """One summary a run; those of later pieces only where they hold solutions."""
    return draft.category != "execution" or "solutions" in draft.value


@dataclass(frozen=True, slots=True)
class _Stored:
    row: Curation
    keys: tuple[str, ...]


@retry_on_conflict
def _stored(
    held: Curation, finished: Finished, learning: Learning, place: str, curated: CurationResult
) -> _Stored:
    """The memories and the row that says they are there: one transaction."""
    caller = replace(finished.caller, origin=CallOrigin(held.run_id))
    with MemoryGateway(caller).open_namespace("write", "memory.curated", namespace=place) as access:
        batch = Batch(access, RULE)
        done = admit(
            access,
            batch,
            curated,
            run_id=held.run_id,
            learning=learning,
            known_secrets=finished.known_secrets,
        )
        row = Curation.objects.unscoped().select_for_update().get(pk=held.pk)
        if row.status != JobStatus.RUNNING or row.attempts != held.attempts:
            raise AlreadyExists("Another worker has taken over this curation.")
        row.status, row.finished_at = JobStatus.DONE, access.now
        row.place, row.curator, row.repairs = place, curated.by, list(curated.repairs)
        row.counts = dict(Counter(str(one) for one in done.outcomes)) | {"proposed": done.proposed}
        row.change_id = batch.change_id
        row.save()
        access.detail.update(curation=str(row.pk), change=str(batch.change_id), keys=done.stored)
        return _Stored(row, done.keys)


def _noticed(
    held: Curation,
    finished: Finished,
    learning: Learning,
    place: str,
    stored: _Stored,
    secrets: tuple[str, ...],
) -> Curation:
    """What is stored is stored; that nobody could look for contradictions is no reason to lose it."""
    row = stored.row
    caller = replace(finished.caller, origin=CallOrigin(held.run_id))
    try:
        found = propose_changes(
            caller, namespace=place, keys=stored.keys, run_id=held.run_id, learning=learning
        )
    except Exception as error:  # shown in the row
        log.exception("noticing_broke", extra={"curation": str(held.pk)})
        row.problem = _shown(f"{type(error).__name__}: {error}", secrets)
    else:
        row.counts = {**row.counts, "proposed": row.counts.get("proposed", 0) + found}
    with tenant([row.team_id]):
        row.save(update_fields=["problem", "counts"])
    return row


def _failed(
    held: Curation, problem: str, secrets: tuple[str, ...], *, by: str = ""
) -> Curation | None:
    with tenant([held.team_id]):
        row = Curation.objects.unscoped().select_for_update().get(pk=held.pk)
        if row.status != JobStatus.RUNNING or row.attempts != held.attempts:
            return None  # another worker's now
        row.status, row.finished_at = JobStatus.FAILED, timezone.now()
        row.problem, row.curator = _shown(problem, secrets), by
        row.save(update_fields=["status", "finished_at", "problem", "curator"])
    return row


def _shown(problem: str, secrets: tuple[str, ...]) -> str:
    return str(redact(problem, secrets).value)[:LONGEST_PROBLEM]
