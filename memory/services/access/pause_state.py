"""What a person told memory to leave off for them: remembering, using what is remembered, or both.

It holds for what is kept about them across conversations, their own namespace; within a conversation
what was said there goes on being known, or it would forget its own beginning. Programmes keep to it:
runs and keys. The person still sees, corrects and forgets by hand.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from memory.core.errors import NotAdmitted
from memory.core.records import MemoryEntry
from memory.models import Namespace
from memory.models.namespaces import PauseChoice
from memory.permissions import Verb
from memory.services.gateway.caller import MemoryCaller


What = Literal["remembering", "recalling", "both"]

REASON: Final = "paused"  # as a node says why it stored nothing, or found nothing

_STOPPED: Final[dict[Verb, str]] = {
    "view": PauseChoice.RECALLING,
    "write": PauseChoice.REMEMBERING,
}


class Paused(NotAdmitted):
    """Paused by the person: nothing is remembered about them."""

    def __init__(self) -> None:
        super().__init__("Paused by the person: nothing is remembered about them.", (REASON,))


class Withheld(list[MemoryEntry]):
    """Nothing, because the person paused being recalled; ``withheld`` says so to who looks closer."""

    withheld = REASON


@dataclass(frozen=True, slots=True)
class Pause:
    """``until``: None is for good."""

    what: What
    since: datetime
    until: datetime | None

    @property
    def remembering(self) -> bool:
        return self.what != "recalling"

    @property
    def recalling(self) -> bool:
        return self.what != "remembering"


def pause_of(row: Namespace | None, now: datetime) -> Pause | None:
    """The pause that holds now; one whose time is over is none."""
    if row is None or not row.paused or row.paused_since is None:
        return None
    if row.paused_until is not None and row.paused_until <= now:
        return None
    what: What = row.paused  # type: ignore[assignment]  # a database constraint holds it to these
    return Pause(what, row.paused_since, row.paused_until)


def is_left_off(caller: MemoryCaller, row: Namespace | None, verb: Verb, now: datetime) -> bool:
    """Whether a programme finds this verb paused here; a person at the door never does."""
    by_hand = caller.reach is None and caller.principal.kind == "user"
    stopped = _STOPPED.get(verb)
    if by_hand or stopped is None:
        return False
    pause = pause_of(row, now)
    return pause is not None and pause.what in (stopped, PauseChoice.BOTH)
