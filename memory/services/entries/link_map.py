"""Load the links between the entries of a namespace, for a drawing."""

from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Q

from config.retry import retry_on_conflict
from memory.core.identifiers import is_uuid
from memory.core.records import MemoryEntry
from memory.logic.entries.link_map import LinkKind, LinkMap, draw_map, find_links, list_references
from memory.models import Entry
from memory.providers.postgres import rows
from memory.providers.postgres.folding import contains
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.recall.search import ORDERS, EntrySearch, Sort, filter_entries


MAX_DRAWN = 60


@dataclass(frozen=True, slots=True)
class Links:
    """A drawing of entries and their links."""

    drawing: LinkMap
    entries: dict[str, MemoryEntry]
    forgotten_ids: frozenset[str]  # of linked entries that were forgotten or merged
    is_all: bool  # whether all entries with links are drawn


@retry_on_conflict
def load_links(caller: MemoryCaller, *, namespace: str, search: EntrySearch) -> Links:
    """Load the newest entries with links and the entries that they link to; none for an external namespace."""
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        row = access.target.row
        if row is None or access.external is not None:
            return Links(draw_map([], []), {}, frozenset(), is_all=True)
        query = filter_entries(row, replace(search, text=""), access.now)
        query = query.filter(contains("text", search.text))
        with_links = query.filter(metadata__has_any_keys=[str(kind) for kind in LinkKind])
        newest = list(with_links.order_by(*ORDERS[Sort.NEWEST])[: MAX_DRAWN + 1])
        linking_entries = [rows.build_entry(linking, row.text) for linking in newest[:MAX_DRAWN]]
        names = {name for entry in linking_entries for _kind, name in list_references(entry)}
        ids = [UUID(name) for name in names if is_uuid(name)]
        siblings = Entry.objects.unscoped().filter(namespace=row)
        candidates = siblings.filter(Q(key__in=names, deleted_at=None) | Q(pk__in=ids))
        linked = candidates.exclude(pk__in=[linking.pk for linking in newest])
        linked_rows = list(linked.order_by("-updated_at", "-id"))
        linked_entries = [rows.build_entry(entry, row.text) for entry in linked_rows[:MAX_DRAWN]]
        entries = [*linking_entries, *linked_entries]
        access.detail["keys"] = len(entries)
        drawing = draw_map([entry.id for entry in entries], find_links(entries))
        forgotten_ids = frozenset(str(entry.pk) for entry in linked_rows if entry.is_forgotten)
        is_all = len(newest) <= MAX_DRAWN and len(linked_rows) <= MAX_DRAWN
        return Links(drawing, {entry.id: entry for entry in entries}, forgotten_ids, is_all)
