"""Read which runs recalled an entry."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from config.retry import retry_on_conflict
from memory.host import RunDescription, get_host
from memory.models import Read
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_entry


@dataclass(frozen=True, slots=True)
class EntryRead:
    """One recall of an entry. ``run`` is None if the caller may not see the run, or if it was deleted."""

    row: Read
    run: RunDescription | None


@dataclass(frozen=True, slots=True)
class EntryReads:
    reads: Sequence[EntryRead]
    total: int


@retry_on_conflict
def list_entry_reads(
    caller: MemoryCaller, *, entry_id: UUID | str, limit: int = 50, offset: int = 0
) -> EntryReads:
    """Return a page of the recalls of an entry by runs, newest first."""
    with open_entry(caller, "view", "memory.listed", entry_id) as access:
        matches = Read.objects.unscoped().filter(entry_id=UUID(str(entry_id)))
        rows = list(matches.order_by("-at", "-id")[offset : offset + limit])
        total = matches.count()
        access.detail.update(reads=len(rows))
    runs = get_host().describe_runs(caller.principal, {row.run_id for row in rows})
    return EntryReads([EntryRead(row, runs.get(row.run_id)) for row in rows], total)
