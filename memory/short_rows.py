"""Memories in one line each, for the pages of other apps: the newest ones, and the matches of a search while typing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from accounts.tenancy import reading, tenant
from memory import naming
from memory.core.records import MemoryQuery, Tier
from memory.embedding.query_embedding import embed_query
from memory.logic.entries.tiers import TierAction
from memory.models import Entry, Namespace
from memory.models.entries import TierChoice
from memory.personal import format_value
from memory.providers.postgres import search_all
from memory.providers.postgres.folding import contains
from memory.providers.postgres.newest import fetch_newest
from memory.services.gateway.caller import MemoryCaller, select_visible
from memory.services.recall.search_all import list_searchable_namespaces


PAGE_CATEGORY: Final = "page"
# Parts of words are searched in the newest entries only, so that typing stays quick in a large memory.
MAX_SEARCHED: Final = 3_000
MIN_MEANT: Final = (
    6  # bytes of a text that is searched by meaning: two words of Chinese, or six letters
)


@dataclass(frozen=True, slots=True)
class ShortRow:
    """A memory with its value in one line and the title of its namespace for the reader."""

    entry_id: UUID
    text: str
    namespace: str
    changed_at: datetime
    is_page: bool  # of a knowledge base
    is_pending: bool  # quarantined without a decision
    held_until: datetime | None = None  # of a former memory


def list_newest_rows(caller: MemoryCaller, *, limit: int) -> list[ShortRow]:
    """Return the newest memories of all namespaces that the caller may view."""
    with reading([caller.team_id]):
        namespaces = select_visible(caller, Namespace).filter(entry_count__gt=0)
        entries = fetch_newest(namespaces, caller.team_id, timezone.now(), limit)
        return _build_rows(caller, entries)


def search_rows(caller: MemoryCaller, text: str, *, limit: int) -> list[ShortRow]:
    """Return memories for a text that a person is typing.

    The newest ones that contain it as it is come first, then those that a search for its words ranks best. If there is
    none, those come that are near in meaning.
    """
    rows = _search_words(caller, text, limit)
    return rows or _search_by_meaning(caller, text, limit)


def _search_words(caller: MemoryCaller, text: str, limit: int) -> list[ShortRow]:
    with tenant([caller.team_id]):
        namespaces, _is_all = list_searchable_namespaces(caller, None)
        entries = _find_containing(namespaces, caller.team_id, text, limit)
        if len(entries) < limit:
            known_ids = {entry.pk for entry in entries}
            page = search_all.rank_entries(namespaces, text, timezone.now(), limit=limit, offset=0)
            entries += [entry for entry, _score, _parts in page.hits if entry.pk not in known_ids]
        return _build_searched_rows(caller, entries[:limit])


def _search_by_meaning(caller: MemoryCaller, text: str, limit: int) -> list[ShortRow]:
    """Return what holds now and is near in meaning to a text of some length; a few letters mean nothing."""
    if len(text.encode()) < MIN_MEANT:
        return []
    # Before the transaction, because embedders are slow.
    meaning = embed_query(MemoryQuery("", query_text=text), caller.team_id).meaning
    if meaning is None:
        return []
    with tenant([caller.team_id]):
        namespaces, _is_all = list_searchable_namespaces(caller, None)
        now = timezone.now()
        page = search_all.rank_entries(
            namespaces, text, now, limit=limit, offset=0, meaning=meaning, holding_at=now
        )
        return _build_searched_rows(caller, [entry for entry, _score, _parts in page.hits])


def _build_searched_rows(caller: MemoryCaller, entries: Sequence[Entry]) -> list[ShortRow]:
    namespaces = Namespace.objects.unscoped().in_bulk({entry.namespace_id for entry in entries})
    for entry in entries:
        entry.namespace = namespaces[entry.namespace_id]
    return _build_rows(caller, entries)


def _find_containing(namespaces: Any, team_id: UUID, text: str, limit: int) -> list[Entry]:
    living = Entry.objects.unscoped().living().filter(team_id=team_id)  # type: ignore[attr-defined]
    newest = living.filter(namespace__in=namespaces.order_by()).order_by("-updated_at", "-id")
    recent_ids = newest.values("pk")[:MAX_SEARCHED]
    matching = Entry.objects.unscoped().filter(contains("text", text), pk__in=recent_ids)
    return list(matching.order_by("-updated_at", "-id")[:limit])


def _build_rows(caller: MemoryCaller, entries: Sequence[Entry]) -> list[ShortRow]:
    distinct = {entry.namespace_id: entry.namespace for entry in entries}.values()
    named_rows = naming.name_namespaces(list(distinct), reader_id=caller.principal.user_id)
    titles = {item.row.pk: item.title for item in named_rows}
    return [
        ShortRow(
            entry_id=entry.pk,
            text=_format_line(entry.value),
            namespace=titles[entry.namespace_id],
            changed_at=entry.updated_at,
            is_page=entry.category == PAGE_CATEGORY,
            is_pending=_is_pending(entry),
            held_until=entry.valid_until if entry.is_former else None,
        )
        for entry in entries
    ]


def _format_line(value: Any) -> str:  # Any: JSON
    if isinstance(value, dict) and isinstance(value.get("title"), str):
        return " ".join(value["title"].split())
    return " ".join(format_value(value).split())


def _is_pending(entry: Entry) -> bool:
    is_held = TierChoice(entry.tier).value == str(Tier.QUARANTINE)
    return is_held and entry.metadata.get("review") != TierAction.REJECT
