"""Look at one living entry, quarantined or not."""

from uuid import UUID

from django.utils.translation import gettext as _

from config.again import tried_again
from memory.core.errors import NotFound
from memory.core.records import MemoryEntry
from memory.providers.postgres import rows
from memory.services.caller import MemoryCaller
from memory.services.door import entry_place, opened


@tried_again
def look(caller: MemoryCaller, *, entry_id: UUID | str) -> MemoryEntry:
    with opened(caller, "view", "memory.listed", namespace=entry_place(caller, entry_id)) as door:
        row = door.place.row
        found = row and (
            rows.living(row)
            .exclude(expires_at__lte=door.now)
            .filter(pk=UUID(str(entry_id)))
            .first()
        )
        if not row or not found:
            raise NotFound(_("There is no such memory; it may be forgotten."))
        door.detail.update(entry=str(entry_id), keys=1)
        return rows.entry_of(found, row.text)
