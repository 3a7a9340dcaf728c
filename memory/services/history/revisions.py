"""Every value an entry ever had, newest first, with who made it and why."""

from uuid import UUID

from config.retry import retry_on_conflict
from memory.core.records import MemoryEntry
from memory.models import Revision
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway, get_entry_namespace, key_hash


@retry_on_conflict
def revisions(caller: MemoryCaller, *, entry_id: UUID | str) -> list[Revision]:
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=get_entry_namespace(caller, entry_id)
    ) as access:
        found = list(
            Revision.objects.unscoped().filter(entry_id=UUID(str(entry_id))).order_by("-number")
        )
        access.detail.update(entry=str(entry_id), revisions=len(found))
        return found


@retry_on_conflict
def values(caller: MemoryCaller, *, namespace: str, key: str) -> list[MemoryEntry]:
    """Every value of the living entry under a key, oldest first, the present one last."""
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=namespace
    ) as access:
        found = list(access.store().history(access.text, key))
        access.detail.update(key=key_hash(key))
        if found:
            access.detail.update(entry=found[-1].id, revisions=len(found))
        return found
