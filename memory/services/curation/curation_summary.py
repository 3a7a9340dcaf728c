"""The summary of a run's curation: its status, the stored entries and the number of open proposals."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.tenancy import tenant
from memory.core.records import Tier
from memory.logic.entries.texts import list_texts
from memory.logic.knowledge.pages import PAGE_CATEGORY
from memory.models import Curation, Entry, Revision
from memory.services.curation.curate import find_curation
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.review.proposals import list_proposals


MAX_ENTRIES = 50


@dataclass(frozen=True, slots=True)
class CuratedEntry:
    id: str
    key: str
    text: str
    is_quarantined: bool


@dataclass(frozen=True, slots=True)
class CurationSummary:
    """A run's curation, the entries it stored that the caller may see, and the number of its open proposals."""

    curation: Curation
    entries: Sequence[CuratedEntry]
    open_proposals: int = 0


def summarize_curation(caller: MemoryCaller, *, run_id: str) -> CurationSummary | None:
    """Return the summary, or None if the run has no curation that the caller may read."""
    row = find_curation(caller, run_id=run_id)
    if row is None:
        return None
    if row.change_id is None:
        return CurationSummary(row, ())
    with tenant([caller.team_id]):
        revisions = Revision.objects.unscoped().filter(change_id=row.change_id)
        entry_ids = revisions.values("entry_id")
        rows = select_visible(caller, Entry).filter(pk__in=entry_ids, deleted_at=None)
        entries = list(rows.order_by("-importance", "created_at", "id")[:MAX_ENTRIES])
    has_proposals = row.counts.get("proposed")
    open_proposals = list_proposals(caller, run_id=run_id, limit=1).total if has_proposals else 0
    return CurationSummary(row, [_build_entry(entry) for entry in entries], open_proposals)


def _build_entry(entry: Entry) -> CuratedEntry:
    value = entry.value
    title = (
        value.get("title") if entry.category == PAGE_CATEGORY and isinstance(value, dict) else ""
    )
    text = title or "\n".join(list_texts(value))
    return CuratedEntry(str(entry.pk), entry.key, text, entry.tier == Tier.QUARANTINE)
