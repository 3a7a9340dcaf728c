"""Who is told that something waits to be embedded: a worker, by a message that may be lost and need not come.

One message a second and process is enough: it is sent to arrive after that second, and whoever looks then finds
everything that was written in it. What no message tells a sweep finds.
"""

import threading
import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from django.db import transaction


Tells = Callable[[UUID, float], object]  # of a team, to look after so many seconds

GATHERED: Final = 1.0  # seconds


def tells(teller: Tells | None) -> None:
    _told.teller = teller


def after_commit(team_id: UUID) -> None:
    transaction.on_commit(lambda: _tell(team_id))


class _Told:
    teller: Tells | None = None


_told = _Told()
_COVERED: dict[UUID, float] = {}  # until when what is written needs no further message
_LOCK = threading.Lock()


def _tell(team_id: UUID) -> None:
    now = time.monotonic()
    with _LOCK:
        if _told.teller is None or _COVERED.get(team_id, 0.0) > now:
            return
        _COVERED[team_id] = now + GATHERED
    _told.teller(team_id, GATHERED)
