"""Answer a repeated request with the first answer to it, by the ``Idempotency-Key`` that its sender chose.

A key belongs to its sender and a team; a program stays the same sender when its API key is replaced, but isn't told what
another one of its API keys was answered that may do more. It is claimed in the
transaction that does the work, so after a crash the work and the key are either both there or both not. A request that
meets the key while that transaction is open is refused at once and may be sent again; it is not made to wait, because it
would hold a thread and a connection meanwhile. The form of a page waits a moment, because a browser shows only the answer
to the last of two clicks.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.utils.translation import gettext as _
from psycopg.errors import LockNotAvailable

from accounts.access import Principal
from accounts.principals import get_service_account_id
from accounts.services import list_own_actors
from accounts.tenancy import tenant
from workflows.errors import InvalidValue, KeyInUse, KeyReused
from workflows.execution.idempotency_keys import get_expiry
from workflows.models import IdempotencyKey


MAX_KEY: Final = 255  # characters
MAX_BODY: Final = 256_000  # characters of an answer that replaces an earlier one


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer that the first request got."""

    status: int
    body: str
    object_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ClaimedKey:
    """A key whose request is handled now. Its answer is still to be stored."""

    row_id: UUID
    team_id: UUID


def check_key(key: str) -> str:
    """Return the key. Raises InvalidValue unless it has 1 to 255 printable ASCII characters."""
    if not (0 < len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        message = _("Idempotency-Key: use 1 to 255 printable ASCII characters.")
        raise InvalidValue(message, field="Idempotency-Key")
    return key


def claim_key(
    principal: Principal, team_id: UUID, *, key: str, digest: str, patience: int = 0
) -> ClaimedKey | StoredAnswer:
    """Claim the key for this request, or return the first answer to it. Runs in the transaction that does the work.

    Raises KeyReused if the key was sent with another request, and KeyInUse if the first one is still being handled
    after the patience, in milliseconds.
    """
    with tenant([team_id]):
        actors = list_own_actors(principal, may_do_more=False)
        name = f"{team_id} {get_service_account_id(principal) or principal.actor} {key}"
        if not _lock(name) and not (patience and _wait_for_lock(name, patience)):
            raise KeyInUse
        rows = IdempotencyKey.objects.unscoped().filter(team_id=team_id, actor__in=actors, key=key)
        rows.filter(created_at__lt=get_expiry()).delete()
        row = rows.order_by("created_at", "pk").first()
        if row is None:
            row = IdempotencyKey.objects.create(
                team_id=team_id, actor=principal.actor, key=key, digest=digest
            )
            return ClaimedKey(row.pk, team_id)
    if row.digest != digest:
        raise KeyReused
    if row.status is None:  # only if the answer of a finished request could not be stored
        raise KeyInUse
    return StoredAnswer(row.status, row.body, row.object_id)


def store_answer(
    claimed: ClaimedKey, *, status: int, body: str, object_id: UUID | None = None
) -> None:
    """Store the answer for repeated requests. A large one doesn't replace the short answer that was stored before."""
    with tenant([claimed.team_id]):
        rows = IdempotencyKey.objects.unscoped().filter(pk=claimed.row_id)
        if len(body) > MAX_BODY:
            rows = rows.filter(status=None)
        rows.update(status=status, body=body, object_id=object_id)


def release_key(claimed: ClaimedKey) -> None:
    """Give the key up, because the request was refused and has changed nothing."""
    if connection.needs_rollback:
        return  # the key goes with the transaction
    with tenant([claimed.team_id]):
        IdempotencyKey.objects.unscoped().filter(pk=claimed.row_id).delete()


def _lock(name: str) -> bool:
    """Lock the key until the transaction ends. Return False if another request holds the lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(hashtext('idempotency-key'), hashtext(%s))", [name]
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def _wait_for_lock(name: str, patience: int) -> bool:
    """Lock the key as soon as the other request has ended. Return False if it takes longer than the patience."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('lock_timeout')")
            (usual,) = cursor.fetchone()
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{patience}ms"])
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtext('idempotency-key'), hashtext(%s))", [name]
            )
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [usual])
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True
