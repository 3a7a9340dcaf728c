"""Read the log of a wiki from the revisions of its pages and sources, which the database lets nobody change."""

from config.retry import retry_on_conflict
from memory.core.records import Tier
from memory.logic.knowledge.pages import PAGE_CATEGORY
from memory.logic.knowledge.wiki_sources import SOURCE_CATEGORY
from memory.logic.wiki.log import (
    MAX_LOG_LINES,
    LogLine,
    classify_change,
    get_source_ids,
    get_text,
    sort_lines,
)
from memory.models import Revision
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess


@retry_on_conflict
def read_log(
    caller: MemoryCaller, *, namespace: str, limit: int = 100, offset: int = 0
) -> list[LogLine]:
    """Return the newest lines of the log, after ``offset`` of them, from those that the log has at most."""
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        lines = read_log_lines(access)[offset : offset + limit]
        access.detail.update(revisions=len(lines))
        return lines


def read_log_lines(access: NamespaceAccess) -> list[LogLine]:
    """Return the newest lines of an open namespace, without what is in quarantine."""
    row = access.target.row
    if row is None:
        return []
    revisions = Revision.objects.unscoped().filter(
        entry__namespace=row, category__in=(PAGE_CATEGORY, SOURCE_CATEGORY)
    )
    revisions = revisions.exclude(tier=Tier.QUARANTINE).order_by("-at", "-id")
    return sort_lines(map(_build_line, revisions[:MAX_LOG_LINES]))


def _build_line(row: Revision) -> LogLine:
    return LogLine(
        at=row.at,
        action=classify_change(row.category, row.operation, row.reason, row.number),
        kind=row.category,
        id=get_text(row.value, "id"),
        title=get_text(row.value, "title"),
        entry_id=str(row.entry_id),
        revision=row.number,
        sources=get_source_ids(row.value),
        actor=row.actor,
        run_id=row.run_id,
    )
