"""Acts over many entries of a namespace: tried first, then done as one, and undone as one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.again import tried_again
from memory.core.errors import AlreadyExists, InvalidInput
from memory.core.records import Tier
from memory.logic.tiers import MOVES, Move
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.amend import Amendment, amend
from memory.services.caller import MemoryCaller
from memory.services.door import Door, opened
from memory.services.forget import MOST_AT_ONCE, forget_many
from memory.services.seeking import Sought, matching
from memory.services.tiers import approve, promote, quarantine, reject
from memory.services.would_forget import WouldGo, would_go


AS_IT_IS: Final = Amendment()


class Act(StrEnum):
    FORGET = "forget"
    APPROVE = "approve"
    REJECT = "reject"
    PROMOTE = "promote"
    QUARANTINE = "quarantine"
    CATEGORY = "category"
    IMPORTANCE = "importance"
    EXPIRY = "expiry"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Entries by id, or everything that is found there by ``sought``."""

    namespace: str
    entry_ids: tuple[str, ...] = ()
    sought: Sought | None = None


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What an act would touch. ``left_out``: of those chosen, how many it doesn't apply to; ``gone``: by table,
    where it is forgetting."""

    act: Act
    entry_ids: tuple[str, ...]
    size: int
    keys: tuple[str, ...]
    left_out: int
    gone: WouldGo | None = None

    @property
    def count(self) -> int:
        return len(self.entry_ids)


class Shifted(AlreadyExists):
    """Meanwhile something else matches."""


@tried_again
def rehearse(caller: MemoryCaller, *, act: Act, chosen: Chosen) -> Rehearsed:
    """Nothing is written but that somebody looked."""
    with tenant([caller.team_id]):
        touched, left_out = _touched(caller, act, chosen)
        gone = would_go(touched) if act is Act.FORGET else None
    return Rehearsed(
        act,
        tuple(str(one.pk) for one in touched),
        sum(one.size for one in touched),
        tuple(one.key for one in touched[:5]),
        left_out,
        gone,
    )


@tried_again
def carry_out(
    caller: MemoryCaller,
    *,
    act: Act,
    chosen: Chosen,
    expected: int,
    amendment: Amendment = AS_IT_IS,
    reason: str = "",
) -> UUID | None:
    """The change that undoes it. ``expected`` is how many were agreed to: any other number is refused."""
    with tenant([caller.team_id]):
        # Between what is looked at here and what is done nothing else comes to match.
        rows.lock_namespace(caller.team_id, chosen.namespace)
        touched = [str(one.pk) for one in _touched(caller, act, chosen)[0]]
        if len(touched) != expected:
            raise Shifted(_("Meanwhile something else matches. Look again, please."))
        if not touched:
            return None
        if act in AMENDING:
            return amend(caller, entry_ids=touched, amendment=amendment, reason=reason).change_id
        return _ACTS[act](caller, touched, reason)


AMENDING: Final = frozenset({Act.CATEGORY, Act.IMPORTANCE, Act.EXPIRY})

_MOVES: Final[Mapping[Act, Move]] = {
    Act.APPROVE: Move.APPROVE,
    Act.REJECT: Move.REJECT,
    Act.PROMOTE: Move.PROMOTE,
    Act.QUARANTINE: Move.QUARANTINE,
}

_Ids = Sequence[str]

_ACTS: Final[Mapping[Act, Callable[[MemoryCaller, _Ids, str], UUID | None]]] = {
    Act.FORGET: lambda caller, ids, why: forget_many(caller, entry_ids=ids, reason=why).change_id,
    Act.APPROVE: lambda caller, ids, why: approve(caller, entry_ids=ids, reason=why).change_id,
    Act.REJECT: lambda caller, ids, why: reject(caller, entry_ids=ids, reason=why).change_id,
    Act.PROMOTE: lambda caller, ids, why: promote(caller, entry_ids=ids, reason=why).change_id,
    Act.QUARANTINE: lambda caller, ids, why: (
        quarantine(caller, entry_ids=ids, reason=why).change_id
    ),
}


def _touched(caller: MemoryCaller, act: Act, chosen: Chosen) -> tuple[list[Entry], int]:
    """Those it applies to, and how many it doesn't."""
    with opened(caller, "view", "memory.listed", namespace=chosen.namespace) as door:
        if door.elsewhere is not None:
            raise InvalidInput("entries: what is kept elsewhere is changed one at a time.")
        found = _found(door, chosen)
        touched = [one for one in found if _applies(act, one)]
        door.detail["keys"] = len(touched)
    return touched, len(found) - len(touched)


def _found(door: Door, chosen: Chosen) -> list[Entry]:
    row = door.place.row
    if row is None:
        return []
    if chosen.sought is not None:
        found = matching(row, chosen.sought, door.now)
    else:
        known = [one for one in chosen.entry_ids if _is_id(one)]
        found = rows.living(row).exclude(expires_at__lte=door.now).filter(pk__in=known)
    needed = found.only("id", "key", "size", "tier", "metadata", "updated_at")
    there = list(needed.order_by("-updated_at", "-id")[: MOST_AT_ONCE + 1])
    if len(there) > MOST_AT_ONCE:
        raise InvalidInput(
            _("At most %(most)d at once: narrow it further.") % {"most": MOST_AT_ONCE}
        )
    return there


def _applies(act: Act, entry: Entry) -> bool:
    """Whether there is such a move from where it is; everything else may be done to any."""
    move = _MOVES.get(act)
    if move is None:
        return True
    rejected = move is Move.REJECT and entry.metadata.get("review") == Move.REJECT
    return (Tier(entry.tier), move) in MOVES and not rejected


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
