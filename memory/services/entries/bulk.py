"""Acts over many entries of a namespace: tried first, then done as one, and undone as one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AlreadyExists, InvalidInput
from memory.core.records import Tier
from memory.logic.entries.tiers import TRANSITIONS, TierAction
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.entries.bulk_edit import Amendment, amend
from memory.services.entries.forget import MOST_AT_ONCE, forget_many
from memory.services.entries.preview_forget import WouldGo, would_go
from memory.services.entries.tiers import approve, promote, quarantine, reject
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.recall.search import EntrySearch, matching


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
    sought: EntrySearch | None = None


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The entries that an act would touch. ``left_out``: how many of the chosen it doesn't apply to; ``gone``: rows by
    table, if it forgets.
    """

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


@retry_on_conflict
def rehearse(caller: MemoryCaller, *, act: Act, chosen: Chosen) -> Rehearsed:
    """Preview an act. Only the look is audited."""
    with tenant([caller.team_id]):
        touched, left_out = _select(caller, act, chosen)
        gone = would_go(touched) if act is Act.FORGET else None
    return Rehearsed(
        act,
        tuple(str(entry.pk) for entry in touched),
        sum(entry.size for entry in touched),
        tuple(entry.key for entry in touched[:5]),
        left_out,
        gone,
    )


@retry_on_conflict
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
        touched = [str(entry.pk) for entry in _select(caller, act, chosen)[0]]
        if len(touched) != expected:
            raise Shifted(_("The matching entries have changed. Check the selection again."))
        if not touched:
            return None
        if act in AMENDING:
            return amend(caller, entry_ids=touched, amendment=amendment, reason=reason).change_id
        return _ACTS[act](caller, touched, reason)


AMENDING: Final = frozenset({Act.CATEGORY, Act.IMPORTANCE, Act.EXPIRY})

_MOVES: Final[Mapping[Act, TierAction]] = {
    Act.APPROVE: TierAction.APPROVE,
    Act.REJECT: TierAction.REJECT,
    Act.PROMOTE: TierAction.PROMOTE,
    Act.QUARANTINE: TierAction.QUARANTINE,
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


def _select(caller: MemoryCaller, act: Act, chosen: Chosen) -> tuple[list[Entry], int]:
    """Those it applies to, and how many it doesn't."""
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=chosen.namespace
    ) as access:
        if access.external is not None:
            raise InvalidInput(
                "entries: memory of an external provider can be changed only one entry at a time."
            )
        entries = _list_chosen(access, chosen)
        touched = [entry for entry in entries if _applies(act, entry)]
        access.detail["keys"] = len(touched)
    return touched, len(entries) - len(touched)


def _list_chosen(access: NamespaceAccess, chosen: Chosen) -> list[Entry]:
    row = access.target.row
    if row is None:
        return []
    if chosen.sought is not None:
        query = matching(row, chosen.sought, access.now)
    else:
        ids = [entry_id for entry_id in chosen.entry_ids if _is_id(entry_id)]
        query = rows.living(row).exclude(expires_at__lte=access.now).filter(pk__in=ids)
    needed = query.only("id", "key", "size", "tier", "metadata", "updated_at")
    entries = list(needed.order_by("-updated_at", "-id")[: MOST_AT_ONCE + 1])
    if len(entries) > MOST_AT_ONCE:
        raise InvalidInput(
            _("At most %(most)d entries at once. Narrow the filter.") % {"most": MOST_AT_ONCE}
        )
    return entries


def _applies(act: Act, entry: Entry) -> bool:
    """Return whether an act applies to an entry: a move has to start at its tier, every other act applies to all."""
    move = _MOVES.get(act)
    if move is None:
        return True
    rejected = move is TierAction.REJECT and entry.metadata.get("review") == TierAction.REJECT
    return (Tier(entry.tier), move) in TRANSITIONS and not rejected


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
