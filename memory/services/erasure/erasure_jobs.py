"""Erasures as jobs: a person orders and confirms an erasure, and a worker carries it out and stores the receipt."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.errors import AccountsFault
from accounts.models import Membership, User
from accounts.principals import load_user_principal
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AccessDenied, InvalidInput, MemoryFault, NotFound
from memory.core.identifiers import normalize_identifier
from memory.models import Erasure
from memory.models.jobs import JobStatus
from memory.services.erasure.erase import Receipt, clear_elsewhere, erase, erase_here
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.tasks import wake_erasure


log = logging.getLogger(__name__)

MAX_LISTED = 20
RUNS_KEY = "with_runs"  # in the planned JSON: whether conversations and runs are erased, too


def plan_erasure(caller: MemoryCaller, *, subject: str, runs: bool = True) -> Receipt:
    """Return what would be erased by table, with the same permission check as the erasure."""
    return erase(caller, subject=subject, dry_run=True, runs=runs)


def get_confirmation_text(subject: str) -> str:
    """Return the text to type as a confirmation: the account's email, or the id of a person without an account."""
    try:
        account = User.objects.filter(pk=UUID(subject)).first()
    except ValueError:
        account = None
    return account.email if account else normalize_identifier(subject)


def find_subject(caller: MemoryCaller, name: str) -> str:
    """Return the id of the member with this email; any other text counts as a person's id and is returned itself."""
    term = name.strip()
    with tenant([caller.team_id]):
        rows = select_visible(caller, Membership)
        member = rows.filter(user__email__iexact=term).values_list("user_id", flat=True).first()
    return str(member) if member else term


def erase_at_once(caller: MemoryCaller, *, subject: str, dry_run: bool, runs: bool) -> Receipt:
    """Erase the person now, and return the receipt. It is stored if a person has to decide about memories in it."""
    receipt = erase(caller, subject=subject, dry_run=dry_run, runs=runs)
    if receipt.to_decide and not dry_run:
        with tenant([caller.team_id]):
            row = Erasure(
                team_id=caller.team_id,
                subject=receipt.subject,
                asked_by_id=caller.principal.user_id,
                planned={"tables": dict(receipt.tables), RUNS_KEY: runs},
                status=JobStatus.DONE,
                finished_at=timezone.now(),
            )
            row.receipt = _build_receipt(row, receipt)
            row.save(force_insert=True)
    return receipt


@retry_on_conflict
def order_erasure(
    caller: MemoryCaller, *, subject: str, confirmation: str, runs: bool = True
) -> Erasure:
    """Order an erasure, or return the one of the same person that the caller ordered and that is unfinished.

    ``confirmation`` must equal ``get_confirmation_text(subject)``.
    """
    if caller.principal.kind != "user" or caller.principal.user_id is None:
        raise AccessDenied(_("API keys can't do this. Sign in instead."))
    subject = normalize_identifier(subject)
    planned = plan_erasure(caller, subject=subject, runs=runs)
    if confirmation.strip() != get_confirmation_text(subject):
        raise InvalidInput(_("The confirmation text doesn't match."))
    with tenant([caller.team_id]):
        unfinished = Erasure.objects.unscoped().filter(
            team_id=caller.team_id,
            subject=subject,
            asked_by_id=caller.principal.user_id,
            status__in=(JobStatus.WAITING, JobStatus.RUNNING),
        )
        if (earlier := unfinished.first()) is not None:
            return earlier
        erasure = Erasure.objects.unscoped().create(
            team_id=caller.team_id,
            subject=subject,
            asked_by_id=caller.principal.user_id,
            planned={"tables": dict(planned.tables), RUNS_KEY: runs},
        )
        transaction.on_commit(lambda: wake_erasure(caller.team_id, erasure.pk))
        return erasure


def get_erasure(caller: MemoryCaller, erasure_id: UUID) -> Erasure:
    with tenant([caller.team_id]):
        erasure = select_visible(caller, Erasure).filter(pk=erasure_id).first()
    if erasure is None:
        raise NotFound(_("Receipt not found."))
    return erasure


def list_erasures(caller: MemoryCaller) -> list[Erasure]:
    """Return the erasures that the caller ordered or that were about them, newest first."""
    with tenant([caller.team_id]):
        rows = select_visible(caller, Erasure)
        return list(rows.order_by("-created_at", "-id")[:MAX_LISTED])


def carry_out_erasure(team_id: UUID, erasure_id: UUID) -> None:
    """Carry out the erasure with the present rights of the person who ordered it, and store its receipt or the problem.

    The row is locked meanwhile, so that a second worker waits and finds the job finished.
    """
    with tenant([team_id]):
        row = Erasure.objects.unscoped().select_related("asked_by").get(pk=erasure_id)
    if row.asked_by is None:
        raise InvalidInput(
            "asked_by: nobody ordered this erasure."
        )  # those of keys are done at once
    caller = MemoryCaller(load_user_principal(row.asked_by), team_id)
    receipt = None
    try:
        runs = bool(row.planned.get(RUNS_KEY))
        with clear_elsewhere(caller, subject=row.subject, runs=runs) as cleared:
            receipt = _erase(caller, row, cleared)
    except MemoryFault as fault:
        _fail(team_id, row, str(fault))
    except Exception as fault:
        # An error of the host or the database must not leave the job running.
        log.exception("erasure_failed", extra={"erasure": str(erasure_id)})
        is_of_product = isinstance(fault, AccountsFault) or hasattr(fault, "retryable")
        is_shown = is_of_product and not isinstance(fault, DatabaseError)
        _fail(team_id, row, str(fault) if is_shown else _("Something went wrong on the server."))
    if receipt is not None:
        _finish(row, receipt)


@retry_on_conflict
def _erase(caller: MemoryCaller, row: Erasure, cleared: Mapping[str, int]) -> dict[str, Any] | None:
    """Erase the person, and store and return the receipt. Return None if another worker has ended the job."""
    with tenant([caller.team_id]):
        running = _select_running(row.pk).select_for_update().first()
        if running is None:
            return None
        if running.receipt:  # a worker was lost between the erasure and the end of the job
            return dict(running.receipt)
        runs = bool(row.planned.get(RUNS_KEY))
        result = erase_here(caller, subject=row.subject, runs=runs, cleared=cleared)
        receipt = _build_receipt(row, result)
        _select_running(row.pk).update(receipt=receipt)
        return receipt


def _finish(row: Erasure, receipt: dict[str, Any]) -> None:
    """End the job, and add a verification of the audit log, which has an entry about this erasure, to the receipt."""
    chain = audit.verify(row.team_id)
    proof = {"intact": chain.intact, "entries": chain.length, "head": chain.head}
    with tenant([row.team_id]):
        _end(row, JobStatus.DONE, receipt={**receipt, "audit": proof})


def _build_receipt(row: Erasure, receipt: Receipt) -> dict[str, Any]:
    return {
        **asdict(receipt),
        "at": receipt.at.isoformat(),
        "asked_by": row.asked_by.email if row.asked_by else "",
        "asked_at": row.created_at.isoformat(),
        "receipt": str(row.pk),
    }


def _fail(team_id: UUID, row: Erasure, problem: str) -> None:
    with tenant([team_id]):
        _end(row, JobStatus.FAILED, problem=problem[:500])


def _end(row: Erasure, status: JobStatus, **changes: Any) -> None:
    changes |= {"status": status, "attempts": row.attempts + 1}
    _select_running(row.pk).update(**changes, held_until=None, finished_at=timezone.now())


def _select_running(erasure_id: UUID) -> QuerySet[Erasure]:
    return Erasure.objects.unscoped().filter(pk=erasure_id, status=JobStatus.RUNNING)
