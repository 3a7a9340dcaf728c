"""The log of a wiki: which source was recorded and which page was changed, when and by which run.

It is read from the revisions of pages and sources, which nobody can change, so it can't miss or invent a line.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from memory.core.provider import NamespaceStore
from memory.core.records import Json, MemoryEntry
from memory.logic.knowledge.knowledge_base import list_page_entries
from memory.logic.knowledge.pages import PAGE_CATEGORY
from memory.logic.knowledge.wiki_sources import SOURCE_CATEGORY, build_source_key, list_sources


MAX_LOG_LINES: Final = 500
# The reasons of writes by which the log tells them apart.
COMPILED: Final = "compiled anew"
LINKED: Final = "linked"


class LogAction(StrEnum):
    INGESTED = "ingested"
    SOURCE_CHANGED = "source_changed"
    CREATED = "created"
    CHANGED = "changed"
    COMPILED = "compiled"
    LINKED = "linked"
    FORGOTTEN = "forgotten"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One change of a page or a source (``kind``). ``sources`` are those of the page after the change."""

    at: datetime
    action: LogAction
    kind: str
    id: str
    title: str
    entry_id: str
    revision: int
    sources: tuple[str, ...] = ()
    actor: str = ""
    run_id: str = ""


_BY_REASON: Final = {COMPILED: LogAction.COMPILED, LINKED: LogAction.LINKED}
_BY_OPERATION: Final = {
    "forget": LogAction.FORGOTTEN,
    "expire": LogAction.FORGOTTEN,
    "restore": LogAction.RESTORED,
}


def classify_change(kind: str, operation: str, reason: str, number: int) -> LogAction:
    """Return what a revision of a page or a source means in the log."""
    if operation in _BY_OPERATION:
        return _BY_OPERATION[operation]
    if kind == SOURCE_CATEGORY:
        return LogAction.INGESTED if number == 1 else LogAction.SOURCE_CHANGED
    if reason in _BY_REASON:
        return _BY_REASON[reason]
    return LogAction.CREATED if number == 1 else LogAction.CHANGED


def list_log(store: NamespaceStore, namespace: str) -> list[LogLine]:
    """Return the log of pages and sources that exist, newest first, from a store that keeps no reasons."""
    keys = [entry.key for entry in list_page_entries(store, namespace)]
    keys += [build_source_key(source.id) for source in list_sources(store, namespace)]
    lines = [line for key in keys for line in _list_changes(store.history(namespace, key))]
    return sort_lines(lines)


def sort_lines(lines: Iterable[LogLine]) -> list[LogLine]:
    """Return the lines, newest first; the source of a change stands below the pages written from it."""
    newest_first = sorted(lines, key=lambda line: (line.at, line.kind == PAGE_CATEGORY, line.id))
    return newest_first[::-1][:MAX_LOG_LINES]


def get_text(value: Json, name: str) -> str:
    return str(value.get(name, "")) if isinstance(value, dict) else ""


def get_source_ids(value: Json) -> tuple[str, ...]:
    sources = value.get("sources", ()) if isinstance(value, dict) else ()
    return tuple(str(source.get("id", "")) for source in sources if isinstance(source, dict))


def _list_changes(revisions: Sequence[MemoryEntry]) -> Iterable[LogLine]:
    for before, entry in zip([None, *revisions], revisions, strict=False):
        compiled_at = get_text(entry.value, "compiled_at")
        is_compiled = compiled_at and compiled_at != get_text(
            before and before.value, "compiled_at"
        )
        reason = COMPILED if is_compiled else ""
        yield LogLine(
            at=entry.updated_at or datetime.fromtimestamp(0, UTC),
            action=classify_change(entry.category, "store", reason, entry.revision),
            kind=entry.category,
            id=get_text(entry.value, "id"),
            title=get_text(entry.value, "title"),
            entry_id=entry.id,
            revision=entry.revision,
            sources=get_source_ids(entry.value),
            actor=entry.source.actor,
            run_id=entry.source.run_id,
        )
