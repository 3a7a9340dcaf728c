"""Actions on many entries of a namespace: previewed first, then applied as one change that can be undone."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import AlreadyExists, InvalidInput
from memory.core.identifiers import is_uuid
from memory.core.records import Tier
from memory.logic.entries.tiers import TRANSITIONS, TierAction
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.entries.bulk_edit import Amendment, amend
from memory.services.entries.forget import MAX_ENTRIES, forget_many
from memory.services.entries.preview_forget import ForgetPreview, preview_entries
from memory.services.entries.tiers import move
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.recall.search import EntrySearch, match_entries


NO_AMENDMENT: Final = Amendment()


class BulkAction(StrEnum):
    FORGET = "forget"
    APPROVE = "approve"
    REJECT = "reject"
    PROMOTE = "promote"
    QUARANTINE = "quarantine"
    CATEGORY = "category"
    IMPORTANCE = "importance"
    EXPIRY = "expiry"


_MOVES: Final = {BulkAction(action): action for action in TierAction}


@dataclass(frozen=True, slots=True)
class Selection:
    """The entries of a namespace with these ids or, with ``search``, all that the search finds."""

    namespace: str
    entry_ids: tuple[str, ...] = ()
    search: EntrySearch | None = None


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """The entries that an action would affect, and the number of selected ones to which it doesn't apply."""

    action: BulkAction
    entry_ids: tuple[str, ...]
    size: int
    keys: tuple[str, ...]
    skipped_count: int
    forget_preview: ForgetPreview | None = None  # for the action that forgets the entries

    @property
    def count(self) -> int:
        return len(self.entry_ids)


class SelectionChanged(AlreadyExists):
    """The entries that match have changed in the meantime."""


@retry_on_conflict
def preview_action(
    caller: MemoryCaller, *, action: BulkAction, selection: Selection
) -> BulkPreview:
    """Preview an action. Only the read is audited."""
    with tenant([caller.team_id]):
        affected, skipped_count = _select_affected(caller, action, selection)
        forget_preview = preview_entries(affected) if action is BulkAction.FORGET else None
    return BulkPreview(
        action,
        tuple(str(entry.pk) for entry in affected),
        sum(entry.size for entry in affected),
        tuple(entry.key for entry in affected[:5]),
        skipped_count,
        forget_preview,
    )


@retry_on_conflict
def apply_action(
    caller: MemoryCaller,
    *,
    action: BulkAction,
    selection: Selection,
    expected: int,
    amendment: Amendment = NO_AMENDMENT,
    reason: str = "",
) -> UUID | None:
    """Apply the action and return the id of its change, if any. Raise SelectionChanged unless ``expected`` entries match."""
    with tenant([caller.team_id]):
        # The lock keeps other entries from starting to match between the selection and the action.
        rows.lock_namespace(caller.team_id, selection.namespace)
        affected = [str(entry.pk) for entry in _select_affected(caller, action, selection)[0]]
        if len(affected) != expected:
            raise SelectionChanged(
                _("The matching entries have changed. Check the selection again.")
            )
        if not affected:
            return None
        if action is BulkAction.FORGET:
            return forget_many(caller, entry_ids=affected, reason=reason).change_id
        if (tier_action := _MOVES.get(action)) is not None:
            return move(caller, move=tier_action, entry_ids=affected, reason=reason).change_id
        return amend(caller, entry_ids=affected, amendment=amendment, reason=reason).change_id


def _select_affected(
    caller: MemoryCaller, action: BulkAction, selection: Selection
) -> tuple[list[Entry], int]:
    """Return the selected entries to which the action applies, and the number of the other selected ones."""
    with open_namespace(caller, "view", "memory.listed", namespace=selection.namespace) as access:
        if access.external is not None:
            raise InvalidInput(
                "entries: memory of an external provider can be changed only one entry at a time."
            )
        entries = _list_selected(access, selection)
        affected = [entry for entry in entries if _is_applicable(action, entry)]
        access.detail["keys"] = len(affected)
    return affected, len(entries) - len(affected)


def _list_selected(access: NamespaceAccess, selection: Selection) -> list[Entry]:
    row = access.target.row
    if row is None:
        return []
    if selection.search is not None:
        query = match_entries(row, selection.search, access.now)
    else:
        ids = [entry_id for entry_id in selection.entry_ids if is_uuid(entry_id)]
        query = rows.find_living(row).exclude(expires_at__lte=access.now).filter(pk__in=ids)
    slim_query = query.only("id", "key", "size", "tier", "metadata", "updated_at")
    entries = list(slim_query.order_by("-updated_at", "-id")[: MAX_ENTRIES + 1])
    if len(entries) > MAX_ENTRIES:
        raise InvalidInput(
            _("At most %(most)d entries at once. Narrow the filter.") % {"most": MAX_ENTRIES}
        )
    return entries


def _is_applicable(action: BulkAction, entry: Entry) -> bool:
    """Return whether the action applies to the entry. A move must be possible from its tier; others always apply."""
    tier_action = _MOVES.get(action)
    if tier_action is None:
        return True
    is_rejected = entry.metadata.get("review") == TierAction.REJECT
    is_repeated = tier_action is TierAction.REJECT and is_rejected
    return (Tier(entry.tier), tier_action) in TRANSITIONS and not is_repeated
