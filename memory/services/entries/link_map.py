"""Which memories of a namespace name each other, for a drawing of them."""

from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Q

from config.again import tried_again
from memory.core.records import MemoryEntry
from memory.logic.link_map import LinkKind, LinkMap, drawn, links_among, named_in
from memory.models import Entry
from memory.providers.postgres import rows
from memory.services.caller import MemoryCaller
from memory.services.door import opened
from memory.services.seeking import ORDERS, Sort, Sought, narrowed_to


MOST_DRAWN = 60


@dataclass(frozen=True, slots=True)
class Links:
    """``gone`` are ids of those that were forgotten, or taken in."""

    drawing: LinkMap
    entries: dict[str, MemoryEntry]
    gone: frozenset[str]
    is_all: bool


@tried_again
def links_in(caller: MemoryCaller, *, namespace: str, sought: Sought) -> Links:
    """The newest that say they are linked, and whom they name; of what is kept elsewhere nothing is known."""
    with opened(caller, "view", "memory.listed", namespace=namespace) as door:
        row = door.place.row
        if row is None or door.elsewhere is not None:
            return Links(drawn([], []), {}, frozenset(), is_all=True)
        found = narrowed_to(row, replace(sought, text=""), door.now)
        if sought.text:
            found = found.filter(text__icontains=sought.text)
        said = found.filter(metadata__has_any_keys=[str(kind) for kind in LinkKind])
        newest = list(said.order_by(*ORDERS[Sort.NEWEST])[: MOST_DRAWN + 1])
        speaking = [rows.entry_of(one, row.text) for one in newest[:MOST_DRAWN]]
        names = {name for one in speaking for _kind, name in named_in(one)}
        ids = [UUID(name) for name in names if _is_id(name)]
        there = Entry.objects.unscoped().filter(namespace=row)
        named = there.filter(Q(key__in=names, deleted_at=None) | Q(pk__in=ids))
        others = list(
            named.exclude(pk__in=[one.pk for one in newest]).order_by("-updated_at", "-id")
        )
        entries = [*speaking, *(rows.entry_of(one, row.text) for one in others[:MOST_DRAWN])]
        door.detail["keys"] = len(entries)
        drawing = drawn([one.id for one in entries], links_among(entries))
        gone = frozenset(str(one.pk) for one in others if one.is_forgotten)
        is_all = len(newest) <= MOST_DRAWN and len(others) <= MOST_DRAWN
        return Links(drawing, {one.id: one for one in entries}, gone, is_all)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
