"""Notifies a worker that entries wait to be embedded. A message may be lost: a sweep finds its entries later.

One message per second, team and process is enough, because it is delivered after that second and the worker then finds
all entries written until then.
"""

import threading
import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.db import transaction


Notifier = Callable[[UUID, float], object]  # takes a team and the delay in seconds

DELAY: Final = 1.0  # seconds

_NOTIFIED_UNTIL: dict[UUID, float] = {}  # the time until which further writes need no message
_LOCK = threading.Lock()


def register_notifier(notifier: Notifier | None) -> None:
    """Set the function that sends the messages; None sends none."""
    _registry.notifier = notifier


def notify_after_commit(team_id: UUID) -> None:
    """Send a message for the team when the transaction commits, unless one was sent within the last second."""
    transaction.on_commit(lambda: _notify(team_id))


class _Registry:
    notifier: Notifier | None = None


_registry = _Registry()


def _notify(team_id: UUID) -> None:
    now = time.monotonic()
    with _LOCK:
        if _registry.notifier is None or _NOTIFIED_UNTIL.get(team_id, 0.0) > now:
            return
        _NOTIFIED_UNTIL[team_id] = now + DELAY
    _registry.notifier(team_id, DELAY)
