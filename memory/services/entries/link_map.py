"""The links between the memories of a namespace, for a drawing of them."""

from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Q

from config.retry import retry_on_conflict
from memory.core.records import MemoryEntry
from memory.logic.entries.link_map import LinkKind, LinkMap, draw_map, find_links, list_references
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway
from memory.services.recall.search import ORDERS, EntrySearch, Sort, narrowed_to


MOST_DRAWN = 60


@dataclass(frozen=True, slots=True)
class Links:
    """``gone`` are ids of those that were forgotten, or taken in."""

    drawing: LinkMap
    entries: dict[str, MemoryEntry]
    gone: frozenset[str]
    is_all: bool


@retry_on_conflict
def links_in(caller: MemoryCaller, *, namespace: str, search: EntrySearch) -> Links:
    """The newest that say they are linked, and whom they name; of what is kept elsewhere nothing is known."""
    with MemoryGateway(caller).open_namespace(
        "view", "memory.listed", namespace=namespace
    ) as access:
        row = access.target.row
        if row is None or access.external is not None:
            return Links(draw_map([], []), {}, frozenset(), is_all=True)
        query = narrowed_to(row, replace(search, text=""), access.now)
        if search.text:
            query = query.filter(text__icontains=search.text)
        with_links = query.filter(metadata__has_any_keys=[str(kind) for kind in LinkKind])
        newest = list(with_links.order_by(*ORDERS[Sort.NEWEST])[: MOST_DRAWN + 1])
        speaking = [rows.entry_of(one, row.text) for one in newest[:MOST_DRAWN]]
        names = {name for row in speaking for _kind, name in list_references(row)}
        ids = [UUID(name) for name in names if _is_id(name)]
        siblings = Entry.objects.unscoped().filter(namespace=row)
        named = siblings.filter(Q(key__in=names, deleted_at=None) | Q(pk__in=ids))
        others = list(
            named.exclude(pk__in=[row.pk for row in newest]).order_by("-updated_at", "-id")
        )
        entries = [*speaking, *(rows.entry_of(one, row.text) for one in others[:MOST_DRAWN])]
        access.detail["keys"] = len(entries)
        drawing = draw_map([row.id for row in entries], find_links(entries))
        gone = frozenset(str(row.pk) for row in others if row.is_forgotten)
        is_all = len(newest) <= MOST_DRAWN and len(others) <= MOST_DRAWN
        return Links(drawing, {row.id: row for row in entries}, gone, is_all)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
