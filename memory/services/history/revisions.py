"""Read the past and present values of an entry, each with its author and reason."""

from uuid import UUID

from config.retry import retry_on_conflict
from memory.core.records import MemoryEntry
from memory.models import Revision
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import hash_key, open_entry, open_namespace


@retry_on_conflict
def list_revisions(caller: MemoryCaller, *, entry_id: UUID | str) -> list[Revision]:
    """Return the revisions of an entry, newest first."""
    with open_entry(caller, "view", "memory.listed", entry_id) as access:
        matches = Revision.objects.unscoped().filter(entry_id=UUID(str(entry_id)))
        revisions = list(matches.order_by("-number"))
        access.detail.update(entry=str(entry_id), revisions=len(revisions))
        return revisions


@retry_on_conflict
def list_values(caller: MemoryCaller, *, namespace: str, key: str) -> list[MemoryEntry]:
    """Return the entry with this key as it was after each change, oldest first; empty if there is none."""
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        entries = list(access.open_store().history(access.text, key))
        access.detail.update(key=hash_key(key))
        if entries:
            access.detail.update(entry=entries[-1].id, revisions=len(entries))
        return entries
