"""Sends the messages about ended runs: signed, and again after a failure, with waits that grow up to about a day."""

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.db import connection, connections
from django.utils import timezone

from accounts.request_transaction import without_connection
from accounts.tenancy import tenant
from config import net
from config.encryption.crypto import decrypt
from workflows.models import Delivery, DeliveryStatus, Run
from workflows.services.triggers.requests import SIGNATURE_HEADER, TIMESTAMP_HEADER, sign


log = structlog.get_logger(__name__)

_DUE: Final = "SELECT deliveries, teams FROM execution_due_deliveries(%s, %s)"
_DELETE_OLD: Final = "SELECT execution_delete_deliveries(%s)"
ID_HEADER: Final = "X-Webhook-Id"
BATCH_SIZE: Final = 50
THREADS: Final = 8
TIMEOUT: Final = 15.0  # seconds for an exchange
MAX_ANSWER: Final = 64 * 1024  # bytes, which nobody reads
# A worker that dies while it sends leaves the message to the next one after this time.
LEASE: Final = timedelta(minutes=2)
# The waits after the first attempt, the second, and so on: a day altogether.
WAITS: Final = tuple(
    timedelta(seconds=seconds) for seconds in (10, 60, 300, 1800, 7200, 21600, 54000)
)
KEPT_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that this worker sends now."""

    delivery: Delivery
    url: str
    secret: str
    body: bytes


def send_due_deliveries(now: datetime | None = None) -> int:
    """Send the messages that are due, several at a time, and return how many arrived. ``now`` is a moved clock of tests."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [now, BATCH_SIZE])
        ids, teams = cursor.fetchone()
    due = list(zip(teams or (), ids or (), strict=True))
    if not due:
        return 0
    claimed = [message for team_id, pk in due if (message := _claim(team_id, pk, now))]
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="webhooks-out")
    with without_connection(is_required=False), pool:
        results = list(pool.map(_post, claimed))
    for message, result in zip(claimed, results, strict=True):
        _note(message.delivery, *result, now)
    return sum(_is_success(status) for status, _error in results)


def delete_old_deliveries() -> int:
    """Delete the log of messages that are older than a month."""
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_OLD, [KEPT_DAYS])
        return int(cursor.fetchone()[0])


def send_and_close() -> int:
    """Send what is due, in a thread of a worker that has no connection of its own."""
    try:
        return send_due_deliveries()
    finally:
        connections.close_all()


def _claim(team_id: UUID, pk: UUID, now: datetime | None) -> Outgoing | None:
    """Take a message for this worker, or return None if another one has it."""
    moment = now or timezone.now()
    with tenant([team_id]):
        rows = Delivery.objects.unscoped().filter(pk=pk, next_at__lte=moment)
        delivery = (
            rows.select_for_update(skip_locked=True, of=("self",))
            .select_related("subscription")
            .first()
        )
        if delivery is None:
            return None
        delivery.attempts += 1
        delivery.next_at = moment + LEASE
        delivery.save(update_fields=["attempts", "next_at"])
        body = json.dumps(_build_body(delivery), ensure_ascii=False).encode()
        subscription = delivery.subscription
        secret = decrypt(bytes(subscription.sealed_secret))
    return Outgoing(delivery, subscription.url, secret, body)


def _build_body(delivery: Delivery) -> dict[str, object]:
    """Return the message. Only runs of programs come with their outputs: those of people are their own."""
    rows = Run.objects.unscoped().filter(pk=delivery.run_id).select_related("workflow", "version")
    run = rows.first()
    message: dict[str, object] = {
        "id": str(delivery.pk),
        "event": f"run.{delivery.event}",
        "created_at": delivery.created_at.isoformat(),
        "run_id": str(delivery.run_id),
        "workflow_id": str(delivery.workflow_id),
    }
    if run is None:
        return message
    details: dict[str, object] = {
        "status": run.status,
        "channel": run.channel,
        "version": run.version.number if run.version else None,
        "created_at": run.created_at.isoformat(),
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
    }
    if run.started_by_id is None and run.subject_user_id is None:
        details |= {"user": run.subject, "outputs": run.outputs, "error": run.error}
    return message | {"workflow": run.workflow.name, "run": details}


def _post(message: Outgoing) -> tuple[int | None, str]:
    """Send a message and return the status of the answer, or None with the reason why there is none."""
    try:
        with net.build_sync_client(timeout=TIMEOUT, max_body=MAX_ANSWER) as client:
            answer = client.post(message.url, content=message.body, headers=_build_headers(message))
    except Exception as error:
        failure = net.describe_failure(error, message.url)
        if failure is None:
            log.exception("delivery.failed", delivery=str(message.delivery.pk))
        return None, str(failure or type(error).__name__)[:500]
    return answer.status_code, ""


def _build_headers(message: Outgoing) -> Mapping[str, str]:
    timestamp = str(int(time.time()))
    return {
        "Content-Type": "application/json",
        ID_HEADER: str(message.delivery.pk),
        TIMESTAMP_HEADER: timestamp,
        SIGNATURE_HEADER: sign(message.secret, timestamp, message.body),
    }


def _note(delivery: Delivery, status: int | None, error: str, now: datetime | None) -> None:
    """Note the answer, and the time of the next attempt if there is to be one."""
    moment = now or timezone.now()
    fields: dict[str, object] = {"answer_status": status, "error": error, "next_at": None}
    if _is_success(status):
        fields |= {"status": DeliveryStatus.SENT, "sent_at": moment}
    elif delivery.attempts > len(WAITS):
        fields["status"] = DeliveryStatus.GIVEN_UP
    else:
        fields["next_at"] = moment + WAITS[delivery.attempts - 1]
    with tenant([delivery.team_id]):
        # Somebody may have asked for the message again meanwhile.
        rows = Delivery.objects.unscoped().filter(pk=delivery.pk, attempts=delivery.attempts)
        rows.update(**fields)


def _is_success(status: int | None) -> bool:
    return status is not None and 200 <= status < 300
