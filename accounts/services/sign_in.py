"""Delays attempts to sign in after failures: longer with each one, and never for a person as a whole.

A limit by email address alone would let anybody lock out anybody. Failures are therefore counted for an email address
*from one network*, and for a network. A device that has signed in before is exempt from both and has a count of its
own. If an address fails from many networks, each of them is slowed down after its first failure, but a first attempt
from a new network is always possible.

PostgreSQL keeps the counts, because they must be right with several processes and while Valkey is away.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import structlog
from django.db import connection, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.errors import SignInDelayed
from accounts.models import SignInFailures
from config.sql import read_queries


QUERIES: Final = read_queries("accounts/sql/queries/sign_in.sql")

FREE_ATTEMPTS: Final = 5  # of one address from one network, or of a known device
FREE_ATTEMPTS_OF_NETWORK: Final = 20  # many people may share one
# Failures of an address from all networks, after which each network has one free attempt.
ATTACK: Final = 50
FREE_ATTEMPTS_UNDER_ATTACK: Final = 1
LONGEST_DELAY: Final = dt.timedelta(minutes=15)
FORGET_AFTER: Final = dt.timedelta(days=1)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """Describes who tries to sign in, and from where. ``device`` is that of an earlier sign-in of this person, or empty."""

    email: str
    network: str
    device: str = ""

    @property
    def person_key(self) -> str:
        return _make_key("person", self.email)

    @property
    def pair_key(self) -> str:
        return _make_key("pair", f"{self.email} {self.network}")

    @property
    def network_key(self) -> str:
        return _make_key("network", self.network)

    @property
    def device_key(self) -> str:
        return _make_key("device", f"{self.email} {self.device}")


@dataclass(frozen=True, slots=True)
class _Count:
    key: str
    free_attempts: int

    @property
    def parameters(self) -> dict[str, Any]:  # Any: what a query takes
        return {
            "key": self.key,
            "free": self.free_attempts,
            "longest": LONGEST_DELAY,
            "forget": FORGET_AFTER,
        }


def reserve_attempt(attempt: SignInAttempt) -> None:
    """Count the attempt as a failure, until ``forgive_attempt`` takes it back.

    Raise ``SignInDelayed`` if it comes too early; such an attempt isn't counted. Unknown addresses are treated alike.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        for count in _list_counts(attempt):
            cursor.execute(QUERIES["reserve"], count.parameters)
            if cursor.fetchone() is None:
                cursor.execute(QUERIES["wait"], count.parameters)
                seconds = float(cursor.fetchone()[0])
                log.info("signin.delayed", network=attempt.network, seconds=round(seconds))
                raise SignInDelayed(seconds)


def forgive_attempt(attempt: SignInAttempt) -> None:
    """Take back an attempt whose password was right, and forget the failures of the person from there.

    The network keeps its other failures: otherwise an attacker could reset them with an account of their own.
    """
    pair_or_device = attempt.device_key if attempt.device else attempt.pair_key
    with transaction.atomic(), connection.cursor() as cursor:
        SignInFailures.objects.filter(key=pair_or_device).delete()
        if not attempt.device:
            keys = sorted([attempt.network_key, attempt.person_key])
            cursor.execute(QUERIES["take_back"], {"keys": keys})


def delete_old_failures() -> int:
    """Delete the counts that no longer delay anybody, and return their number."""
    rows = SignInFailures.objects.filter(last_at__lt=timezone.now() - FORGET_AFTER)
    return rows.delete()[0]


def _list_counts(attempt: SignInAttempt) -> Iterator[_Count]:
    """Yield the counts in one order, because each stays locked until the transaction ends."""
    if attempt.device:
        yield _Count(attempt.device_key, FREE_ATTEMPTS)
        return
    is_attacked = _is_attacked(attempt.person_key)
    free = FREE_ATTEMPTS_UNDER_ATTACK if is_attacked else FREE_ATTEMPTS
    yield _Count(attempt.pair_key, free)
    yield _Count(attempt.network_key, FREE_ATTEMPTS_OF_NETWORK)
    yield _Count(attempt.person_key, 2**31 - 1)  # counted, never delayed


def _is_attacked(person_key: str) -> bool:
    rows = SignInFailures.objects.filter(key=person_key, count__gte=ATTACK)
    return rows.filter(last_at__gte=timezone.now() - FORGET_AFTER).exists()


def _make_key(kind: str, value: str) -> str:
    """Return a keyed hash, so that the table reveals neither addresses nor people."""
    return salted_hmac(f"sign-in {kind}", value, algorithm="sha256").hexdigest()
