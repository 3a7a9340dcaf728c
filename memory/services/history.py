"""Every value an entry ever had, newest first, with who made it and why."""

from uuid import UUID

from memory.models import Revision
from memory.services.caller import MemoryCaller
from memory.services.door import entry_place, opened


def revisions(caller: MemoryCaller, *, entry_id: UUID | str) -> list[Revision]:
    with opened(caller, "view", "memory.listed", namespace=entry_place(caller, entry_id)) as door:
        found = list(
            Revision.objects.unscoped().filter(entry_id=UUID(str(entry_id))).order_by("-number")
        )
        door.detail.update(entry=str(entry_id), revisions=len(found))
        return found
