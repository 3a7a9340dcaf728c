"""Sends the messages about ended runs: signed, and again after a failure, with waits that grow up to about a day.

Teams and receivers take turns. None of them has more than its share of the messages that are being sent, so that a receiver that
doesn't answer delays nobody else's; after that it is left alone for a while, which grows as long as it fails.
"""

import json
import time
from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
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
from workflows.execution.called_runs import build_delivery_mark
from workflows.models import Delivery, DeliveryStatus, Run, RunSubscription
from workflows.services.triggers.requests import SIGNATURE_HEADER, TIMESTAMP_HEADER, sign


log = structlog.get_logger(__name__)

_DUE: Final = "SELECT deliveries, teams FROM execution_due_deliveries(%s, %s)"
_DELETE_OLD: Final = "SELECT execution_delete_deliveries(%s)"
ID_HEADER: Final = "X-Webhook-Id"
BATCH_SIZE: Final = 50
# Messages that a worker sends at a time, and how many of them are of one team, and to one receiver.
THREADS: Final = 16
MAX_OF_TEAM: Final = 4
MAX_OF_RECEIVER: Final = 2
TURN: Final = 60.0  # seconds in which a worker begins to send messages, before it sees what else there is to do
LOOK_SECONDS: Final = 1.0  # until it looks for new messages while it waits for answers
TIMEOUT: Final = 15.0  # seconds for an exchange
MAX_ANSWER: Final = 64 * 1024  # bytes, which nobody reads
# A worker that dies while it sends leaves the message to the next one after this time.
LEASE: Final = timedelta(minutes=2)
# The waits after the first attempt, the second, and so on: a day altogether.
WAITS: Final = tuple(
    timedelta(seconds=seconds) for seconds in (10, 60, 300, 1800, 7200, 21600, 54000)
)
# How long a receiver is left alone that fails for the first time, the second, and so on.
BACK_OFF: Final = WAITS[:4]
KEPT_DAYS: Final = 30
_FIRST_FAULT: Final = 500  # the lowest status of an answer that says that the server has a fault


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that this worker sends now."""

    delivery: Delivery
    url: str
    secret: str
    body: bytes
    mark: str = ""  # of a call of this installation itself, see ``execution.called_runs``


def send_due_deliveries(now: datetime | None = None) -> int:
    """Send the messages that are due, several at a time, and return how many arrived. ``now`` is a moved clock of tests."""
    with ThreadPoolExecutor(THREADS, thread_name_prefix="webhooks-out") as pool:
        turn = _Turn(pool, now)
        while turn.begin_more():
            turn.end_some()
        return turn.arrived


Result = tuple[
    int | None, str
]  # the status of an answer, or None with the reason why there is none


@dataclass(slots=True)
class _Turn:
    """The messages that a worker is sending, by their attempts, with the counts of each team and receiver."""

    pool: Executor
    now: datetime | None
    arrived: int = 0
    _sending: dict[Future[Result], Outgoing] = field(default_factory=dict)
    _counts: Counter[UUID] = field(default_factory=Counter)
    _end: float = field(default_factory=lambda: time.monotonic() + TURN)

    def begin_more(self) -> bool:
        """Begin to send what is due, as far as there is room for it. Return whether anything is being sent."""
        claimed = self._claim_some() if time.monotonic() < self._end else []
        with without_connection(is_required=False):
            for message in claimed:
                self._sending[self.pool.submit(_post, message)] = message
            # Others may become due while a receiver doesn't answer.
            wait(self._sending, LOOK_SECONDS, FIRST_COMPLETED)
        return bool(self._sending)

    def end_some(self) -> None:
        """Note the answers that have come."""
        for future in [each for each in self._sending if each.done()]:
            message = self._sending.pop(future)
            self._count(message.delivery, -1)
            status, error = future.result()
            _note(message.delivery, status, error, self.now)
            self.arrived += _is_success(status)

    def _claim_some(self) -> list[Outgoing]:
        claimed: list[Outgoing] = []
        for team_id, pk in self._list_due():
            if len(self._sending) + len(claimed) == THREADS:
                break
            if self._counts[team_id] == MAX_OF_TEAM:
                continue
            message = _claim(team_id, pk, self.now, self._list_busy_receivers())
            if message is not None:
                claimed.append(message)
                self._count(message.delivery, 1)
        return claimed

    def _list_due(self) -> list[tuple[UUID, UUID]]:
        with connection.cursor() as cursor:
            cursor.execute(_DUE, [self.now, BATCH_SIZE])
            ids, teams = cursor.fetchone()
        return list(zip(teams or (), ids or (), strict=True))

    def _list_busy_receivers(self) -> list[UUID]:
        return [key for key, count in self._counts.items() if count >= MAX_OF_RECEIVER]

    def _count(self, delivery: Delivery, number: int) -> None:
        for key in (delivery.team_id, delivery.subscription_id):
            self._counts[key] += number


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


def _claim(
    team_id: UUID, pk: UUID, now: datetime | None, busy_receivers: Collection[UUID]
) -> Outgoing | None:
    """Take a message for this worker, or return None if another one has it, or its receiver has its share already."""
    moment = now or timezone.now()
    with tenant([team_id]):
        rows = Delivery.objects.unscoped().filter(pk=pk, next_at__lte=moment)
        rows = rows.exclude(subscription_id__in=busy_receivers)
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
        runs = Run.objects.unscoped().filter(pk=delivery.run_id)
        run = runs.select_related("workflow", "version").first()
        body = json.dumps(_build_body(delivery, run), ensure_ascii=False).encode()
        subscription = delivery.subscription
        secret = decrypt(bytes(subscription.sealed_secret))
        mark = build_delivery_mark(run) if run else ""
    return Outgoing(delivery, subscription.url, secret, body, mark)


def _build_body(delivery: Delivery, run: Run | None) -> dict[str, object]:
    """Return the message. Only runs of programs come with their outputs: those of people are their own."""
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


def _post(message: Outgoing) -> Result:
    """Send a message and return the status of the answer, or None with the reason why there is none."""
    try:
        with (
            net.mark_own_calls(lambda: message.mark),
            net.build_sync_client(timeout=TIMEOUT, max_body=MAX_ANSWER) as client,
        ):
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
        _note_receiver(delivery.subscription, status, moment)


def _note_receiver(receiver: RunSubscription, status: int | None, moment: datetime) -> None:
    """Leave a receiver alone that has a fault, longer each time, until it answers again."""
    rows = RunSubscription.objects.unscoped().filter(pk=receiver.pk)
    if status is None or status >= _FIRST_FAULT:
        wait_time = BACK_OFF[min(receiver.failures, len(BACK_OFF) - 1)]
        rows.update(failures=receiver.failures + 1, retry_at=moment + wait_time)
    elif receiver.failures:
        rows.update(failures=0, retry_at=None)


def _is_success(status: int | None) -> bool:
    return status is not None and 200 <= status < 300
