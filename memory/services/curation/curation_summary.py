"""What one run taught, for who looks at the run: how its curation went, and the memories that came of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.tenancy import tenant
from memory.core.records import Tier
from memory.logic.entries.texts import list_texts
from memory.models import Curation, Entry, Revision
from memory.services.curation.curate import curation_of
from memory.services.gateway.caller import MemoryCaller
from memory.services.review.proposals import list_proposals


MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class LearntEntry:
    """``waits``: in quarantine, until somebody has looked at it."""

    id: str
    key: str
    text: str
    waits: bool


@dataclass(frozen=True, slots=True)
class LearntFrom:
    """``waiting``: proposals of it that nobody has decided on yet."""

    curation: Curation
    entries: Sequence[LearntEntry]
    waiting: int = 0


def learnt_from(caller: MemoryCaller, *, run_id: str) -> LearntFrom | None:
    """None where nobody planned to learn from it, or the asker may not know."""
    row = curation_of(caller, run_id=run_id)
    if row is None:
        return None
    if row.change_id is None:
        return LearntFrom(row, ())
    with tenant([caller.team_id]):
        written = Revision.objects.unscoped().filter(change_id=row.change_id)
        seen = Entry.objects.visible_to(caller.principal).filter(
            team_id=caller.team_id, pk__in=written.values("entry_id"), deleted_at=None
        )
        found = list(seen.order_by("-importance", "created_at", "id")[:MOST_SHOWN])
    waiting = (
        list_proposals(caller, run_id=run_id, limit=1).total if row.counts.get("proposed") else 0
    )
    return LearntFrom(row, [_shown(entry) for entry in found], waiting)


def _shown(entry: Entry) -> LearntEntry:
    text = "\n".join(list_texts(entry.value))
    return LearntEntry(str(entry.pk), entry.key, text, entry.tier == Tier.QUARANTINE)
