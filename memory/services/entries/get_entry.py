"""Read a single entry."""

from uuid import UUID

from django.utils.translation import gettext as _

from config.retry import retry_on_conflict
from memory.core.errors import NotFound
from memory.core.records import MemoryEntry
from memory.providers.postgres import rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_entry


@retry_on_conflict
def get_entry(caller: MemoryCaller, *, entry_id: UUID | str) -> MemoryEntry:
    """Return the entry, quarantined or not. Raise NotFound if it was forgotten or has expired."""
    with open_entry(caller, "view", "memory.listed", entry_id) as access:
        row = access.target.row
        entry = row and (
            rows.find_living(row)
            .exclude(expires_at__lte=access.now)
            .filter(pk=UUID(str(entry_id)))
            .first()
        )
        if not row or not entry:
            raise NotFound(_("Memory not found. It may have been forgotten."))
        access.detail.update(entry=str(entry_id), keys=1)
        return rows.build_entry(entry, row.text)
