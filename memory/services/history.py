"""Every value an entry ever had, newest first, with who made it and why."""

from uuid import UUID

from config.again import tried_again
from memory.core.records import MemoryEntry
from memory.models import Revision
from memory.providers.postgres import rows
from memory.providers.postgres.past import as_it_was
from memory.services.caller import MemoryCaller
from memory.services.door import entry_place, key_hash, opened


@tried_again
def revisions(caller: MemoryCaller, *, entry_id: UUID | str) -> list[Revision]:
    with opened(caller, "view", "memory.listed", namespace=entry_place(caller, entry_id)) as door:
        found = list(
            Revision.objects.unscoped().filter(entry_id=UUID(str(entry_id))).order_by("-number")
        )
        door.detail.update(entry=str(entry_id), revisions=len(found))
        return found


@tried_again
def values(caller: MemoryCaller, *, namespace: str, key: str) -> list[MemoryEntry]:
    """Every value of the living entry under a key, oldest first, the present one last."""
    with opened(caller, "view", "memory.listed", namespace=namespace) as door:
        row = door.place.row
        if row and door.elsewhere is not None:
            return list(door.elsewhere.history(row.text, key))
        living = row and rows.living(row).exclude(expires_at__lte=door.now).filter(key=key).first()
        door.detail.update(key=key_hash(key))
        if not row or not living:
            return []
        past = list(Revision.objects.unscoped().filter(entry=living).order_by("number"))
        door.detail.update(entry=str(living.pk), revisions=len(past))
        return [as_it_was(rows.entry_of(living, row.text), one) for one in past]
