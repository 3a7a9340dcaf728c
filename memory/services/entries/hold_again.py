"""Undo the end of a fact: an entry that no longer holds, or was replaced, holds again."""

from uuid import UUID

from accounts.request_transaction import pausable_tenant
from config.retry import retry_on_conflict
from memory.core.errors import NotFound
from memory.core.records import MemoryEntry
from memory.services.entries.edit import edit_entry
from memory.services.entries.get_entry import get_entry
from memory.services.gateway.caller import MemoryCaller


@retry_on_conflict
def hold_again(caller: MemoryCaller, *, entry_id: UUID | str, reason: str = "") -> MemoryEntry:
    """Let the entry hold again, and return it. What took its place holds, too, and replaces nothing any more."""
    with pausable_tenant([caller.team_id]):
        entry = get_entry(caller, entry_id=entry_id)
        if entry.replaced_by:
            _separate(caller, entry.replaced_by, entry.id, reason)
        return edit_entry(caller, entry, reason=reason, valid_until=None, replaced_by="")


def _separate(caller: MemoryCaller, successor_id: str, entry_id: str, reason: str) -> None:
    """Remove the link to the entry from its successor, unless that was forgotten or replaces something else."""
    try:
        successor = get_entry(caller, entry_id=successor_id)
    except NotFound:
        return
    if successor.replaces == entry_id:
        edit_entry(caller, successor, reason=reason, replaces="")
