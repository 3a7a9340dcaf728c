"""Erasing somebody as a job: ordered by a person who typed whom they mean, carried out by a worker, with a receipt."""

import logging
from collections import Counter
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.models import Membership, User
from accounts.principals import load_user_principal
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AccessDenied, InvalidInput, MemoryFault, NotFound
from memory.models import Erasure
from memory.models.jobs import JobStatus
from memory.services.erasure.erase import Receipt, erase
from memory.services.gateway.caller import MemoryCaller
from memory.tasks import wake_erasure


log = logging.getLogger(__name__)

RUNS = "with_runs"  # of what was planned: whether conversations and runs go too


def plan_erasure(caller: MemoryCaller, *, subject: str, runs: bool = True) -> Receipt:
    """What would go, table by table. Refused as the erasure itself would be."""
    return erase(caller, subject=subject, dry_run=True, runs=runs)


def confirmation_of(subject: str) -> str:
    """What one types to be sure: an account's address, anybody else's id."""
    try:
        account = User.objects.filter(pk=UUID(subject)).first()
    except ValueError:
        account = None
    return account.email if account else subject


def subject_named(caller: MemoryCaller, said: str) -> str:
    """Whom somebody means: a member by their address, whose id is nobody's to know, or anybody by theirs."""
    name = said.strip()
    with tenant([caller.team_id]):
        rows = Membership.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        member = rows.filter(user__email__iexact=name).values_list("user_id", flat=True).first()
    return str(member) if member else name


@retry_on_conflict
def order_erasure(caller: MemoryCaller, *, subject: str, typed: str, runs: bool = True) -> Erasure:
    """``typed`` must be ``confirmation_of`` the subject. A second order for somebody waiting is the first one."""
    if caller.principal.kind != "user" or caller.principal.user_id is None:
        raise AccessDenied(_("API keys can't do this. Sign in instead."))
    planned = plan_erasure(caller, subject=subject, runs=runs)
    if typed.strip() != confirmation_of(subject):
        raise InvalidInput(_("The confirmation text doesn't match."))
    with tenant([caller.team_id]):
        waiting = Erasure.objects.unscoped().filter(
            team_id=caller.team_id,
            subject=subject,
            asked_by_id=caller.principal.user_id,
            status__in=(JobStatus.WAITING, JobStatus.RUNNING),
        )
        if (known := waiting.first()) is not None:
            return known
        made = Erasure.objects.unscoped().create(
            team_id=caller.team_id,
            subject=subject,
            asked_by_id=caller.principal.user_id,
            planned={"tables": dict(planned.tables), RUNS: runs},
        )
        transaction.on_commit(lambda: wake_erasure(caller.team_id, made.pk))
        return made


def erasure_for(caller: MemoryCaller, erasure_id: UUID) -> Erasure:
    with tenant([caller.team_id]):
        rows = Erasure.objects.visible_to(caller.principal)
        found = rows.filter(team_id=caller.team_id, pk=erasure_id).first()
    if found is None:
        raise NotFound(_("Receipt not found."))
    return found


def erasures_for(caller: MemoryCaller, limit: int = 20) -> list[Erasure]:
    """Newest first: those one asked for, and those that were about oneself."""
    with tenant([caller.team_id]):
        rows = Erasure.objects.visible_to(caller.principal).filter(team_id=caller.team_id)
        return list(rows.order_by("-created_at", "-id")[:limit])


def carry_out(team_id: UUID, erasure_id: UUID) -> None:
    """All of it or nothing, and the row says which. Rights are those of who asked at this moment.

    The row stays locked as long as it takes: who claims it because it takes long waits, and finds it done.
    """
    with tenant([team_id]):
        row = Erasure.objects.unscoped().select_related("asked_by").get(pk=erasure_id)
    caller = MemoryCaller(load_user_principal(row.asked_by), team_id)
    receipt = None
    try:
        receipt = _erased(caller, row, Counter())
    except MemoryFault as fault:
        _failed(team_id, row, str(fault))
    except Exception as fault:
        # What another app says, or the database: shown to who asked, and never left "running".
        log.exception("erasure_failed", extra={"erasure": str(erasure_id)})
        shown = (
            not isinstance(fault, DatabaseError) and getattr(fault, "retryable", None) is not None
        )
        _failed(team_id, row, str(fault) if shown else _("Something went wrong on the server."))
    if receipt is not None:
        _finish(row, receipt)


@retry_on_conflict
def _erased(caller: MemoryCaller, row: Erasure, cleared: Counter[str]) -> dict[str, Any] | None:
    """What went, written down with it. None: somebody else ended it."""
    with tenant([caller.team_id]):
        held = _going_on(row.pk).select_for_update().first()
        if held is None:
            return None
        if held.receipt:  # a worker was lost between the two halves: it is gone, and stands there
            return dict(held.receipt)
        runs = bool(row.planned.get(RUNS))
        done = erase(caller, subject=row.subject, runs=runs, cleared=cleared)
        receipt = _receipt(row, done)
        _going_on(row.pk).update(receipt=receipt)
        return receipt


def _finish(row: Erasure, receipt: dict[str, Any]) -> None:
    """With the trail looked through afterwards, the erasure's own line in it, when nobody waits for that."""
    chain = audit.verify(row.team_id)
    proof = {"intact": chain.intact, "entries": chain.length, "head": chain.head}
    with tenant([row.team_id]):
        _end(row, JobStatus.DONE, receipt={**receipt, "audit": proof})


def _receipt(row: Erasure, done: Receipt) -> dict[str, Any]:
    return {
        **asdict(done),
        "at": done.at.isoformat(),
        "asked_by": row.asked_by.email,
        "asked_at": row.created_at.isoformat(),
        "receipt": str(row.pk),
    }


def _failed(team_id: UUID, row: Erasure, why: str) -> None:
    with tenant([team_id]):
        _end(row, JobStatus.FAILED, problem=why[:500])


def _end(row: Erasure, status: JobStatus, **more: Any) -> None:
    fields = {
        "status": status,
        "attempts": row.attempts + 1,
        "held_until": None,
        "finished_at": timezone.now(),
        **more,
    }
    _going_on(row.pk).update(**fields)


def _going_on(erasure_id: UUID) -> QuerySet[Erasure]:
    return Erasure.objects.unscoped().filter(pk=erasure_id, status=JobStatus.RUNNING)
