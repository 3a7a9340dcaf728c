"""The state of a pause: a person can pause remembering, recalling, or both.

A pause applies to the person's namespace, for runs and keys; the person still sees, corrects and forgets entries by
hand. The messages of a conversation are still stored and recalled, because it would otherwise lose its beginning.
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


PauseKind = Literal["remembering", "recalling", "both"]

PAUSED_REASON: Final = "paused"  # the reason that nodes report for storing or recalling nothing

_PAUSED_BY_VERB: Final[dict[Verb, str]] = {
    "view": PauseChoice.RECALLING,
    "write": PauseChoice.REMEMBERING,
}


class Paused(NotAdmitted):
    """The error of a write by a run or a key while the person has paused remembering."""

    def __init__(self) -> None:
        super().__init__(
            "Paused by the person: nothing is remembered about them.", (PAUSED_REASON,)
        )


class WithheldEntries(list[MemoryEntry]):
    """The empty result of a recall while the person has paused recalling; ``withheld`` is the reason for nodes."""

    withheld = PAUSED_REASON


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause; without ``until`` it holds until it is resumed."""

    what: PauseKind
    since: datetime
    until: datetime | None

    @property
    def pauses_remembering(self) -> bool:
        return self.what != "recalling"


def get_active_pause(row: Namespace | None, now: datetime) -> Pause | None:
    """Return the namespace's pause, or None if it has ended, or there is none."""
    if row is None or not row.paused or row.paused_since is None:
        return None
    if row.paused_until is not None and row.paused_until <= now:
        return None
    what: PauseKind = row.paused  # type: ignore[assignment]  # a database constraint holds it to these
    return Pause(what, row.paused_since, row.paused_until)


def is_verb_paused(caller: MemoryCaller, row: Namespace | None, verb: Verb, now: datetime) -> bool:
    """Return whether this verb is paused for a run or key. A person who acts by hand is never affected."""
    is_manual = caller.reach is None and caller.principal.kind == "user"
    paused_kind = _PAUSED_BY_VERB.get(verb)
    if is_manual or paused_kind is None:
        return False
    pause = get_active_pause(row, now)
    return pause is not None and pause.what in (paused_kind, PauseChoice.BOTH)
