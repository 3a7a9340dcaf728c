"""Read a single entry."""

from uuid import UUID

from config.retry import retry_on_conflict
from memory.core.records import MemoryEntry
from memory.providers.postgres import rows
from memory.services.entries.tiers import list_entries_by_id
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_entry


@retry_on_conflict
def get_entry(caller: MemoryCaller, *, entry_id: UUID | str) -> MemoryEntry:
    """Return the entry, quarantined or not. Raise NotFound if it was forgotten or has expired."""
    with open_entry(caller, "view", "memory.listed", entry_id) as access:
        [entry] = list_entries_by_id(access.target.row, [entry_id], access.now)
        access.detail.update(entry=str(entry_id), keys=1)
        return rows.build_entry(entry, access.text)
