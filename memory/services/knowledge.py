"""Pages of knowledge through the door: listed, found, written, linked, confirmed, deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.utils.translation import gettext as _

from config.again import tried_again
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import Json, Meaning, MemoryEntry, MemoryQuery
from memory.logic.knowledge import KnowledgeStore
from memory.logic.page_gate import judged_page, page_apart
from memory.logic.page_index import StaleMark
from memory.logic.pages import CATEGORY, KnowledgePage, from_entry, is_page
from memory.logic.paging import MERGE, Hit, Kept, Sought, draft_of, find, write
from memory.models import Entry
from memory.providers.postgres import rows
from memory.providers.postgres.meanings import near_keys
from memory.services import gate
from memory.services.caller import MemoryCaller
from memory.services.compared import worth_comparing
from memory.services.door import Door, entry_place, key_hash, opened
from memory.services.edit import RevisionConflict
from memory.services.forget import Forgotten, forget_chosen
from memory.services.recall import meant, remember_reads
from memory.services.whole_shelf import Shelf, shelf_behind
from memory.services.within import WithinDoor, at_once


@dataclass(frozen=True, slots=True)
class Opened:
    """``links`` and ``backlinks`` are ids of pages, there or not; ``stale``: why to look at it again."""

    page: KnowledgePage
    entry: MemoryEntry
    links: tuple[str, ...]
    backlinks: tuple[str, ...]
    stale: tuple[StaleMark, ...]
    shelf: Shelf  # the other pages beside it, for their names
    held: tuple[str, ...] = ()  # why what was to be written waits in quarantine instead


@tried_again
def shelf(caller: MemoryCaller, *, scope: str | None = None, namespace: str | None = None) -> Shelf:
    with opened(caller, "view", "memory.listed", scope=scope, namespace=namespace) as door:
        found = shelf_behind(door)
        door.detail.update(keys=len(found.pages), pages=True)
        return found


@tried_again
def open_page(caller: MemoryCaller, *, entry_id: UUID | str) -> Opened:
    place = entry_place(caller, entry_id)
    with opened(caller, "view", "memory.listed", namespace=place) as door:
        entry = page_entry(door, entry_id)
        door.detail.update(entry=str(entry_id), keys=1)
        return _opened(door, entry)


@tried_again
def find_pages(
    caller: MemoryCaller,
    *,
    query: str,
    scope: str | None = None,
    namespace: str | None = None,
    top_k: int = 20,
    min_score: float = 0.1,
    tags: Sequence[str] = (),
) -> tuple[Hit, ...]:
    """Best first, by the words of title, tags, summary and content, by full text, and by meaning."""
    check_sought(top_k, min_score)
    asked = meant(caller, MemoryQuery("", query_text=query), scope=scope, namespace=namespace)
    with opened(caller, "view", "memory.recalled", scope=scope, namespace=namespace) as door:
        sought = Sought(query, top_k, min_score, tuple(tags))
        near = _near(door, asked.meaning)
        there = worth_comparing(door, query, near, narrowed=bool(tags))
        hits = at_once(find(sought, there, door.text, near))
        door.detail.update(keys=len(hits), pages=True)
        if caller.origin.run_id and door.elsewhere is None:
            remember_reads(door, [hit.entry for hit in hits], injected=False)
        return hits


@tried_again
def write_pages(
    caller: MemoryCaller,
    *,
    pages: Sequence[Mapping[str, Json]],
    scope: str | None = None,
    namespace: str | None = None,
    mode: str = MERGE,
    reason: str = "",
) -> tuple[Kept, ...]:
    """All or none; each into the page about the same, if there is one."""
    if not 1 <= len(pages) <= MOST_AT_ONCE:
        raise InvalidInput(f"pages: from 1 to {MOST_AT_ONCE} at once.")
    who = gate.who_writes(caller)
    if who is gate.Who.PERSON:  # what a person writes by hand is theirs, and waits for nobody
        pages = [{**one, "origin": "", "hold": False} for one in pages]
    with opened(caller, "write", "memory.stored", scope=scope, namespace=namespace) as door:
        door.claim()  # before the pages are read: two writers of one page must not make twins
        within = WithinDoor(door, reason=reason)
        kept = at_once(
            write(
                pages,
                within,
                door.text,
                mode=mode,
                clock=lambda: door.now,
                source=door.caller.source,
                origin=gate.origin_otherwise(who),
            )
        )
        door.detail.update(keys=len(kept), entries=[one.entry.id for one in kept[:50]], pages=True)
        if held := sum(bool(one.held) for one in kept):
            door.detail["held"] = held
        return kept


@tried_again
def rewrite_page(
    caller: MemoryCaller,
    *,
    entry_id: UUID | str,
    if_revision: int,
    changes: Mapping[str, Json],
    reason: str = "",
) -> Opened:
    """Only what is named changes, and only if nobody was quicker. Its id stays: others refer to it."""
    place = entry_place(caller, entry_id)
    with opened(caller, "write", "memory.edited", namespace=place) as door:
        door.claim()
        entry = page_entry(door, entry_id)
        if entry.revision != if_revision:
            raise RevisionConflict(
                f"The page was changed in the meantime: it is at revision {entry.revision}, "
                f"not {if_revision}."
            )
        before = from_entry(entry)
        origin = gate.origin_otherwise(gate.who_writes(caller))
        drawn, reasons = judged_page(draft_of({"title": before.title, **changes}), {}, origin)
        made = replace(before, **{name: getattr(drawn, name) for name in _WRITABLE & set(changes)})
        store = _store(door, reason)
        if reasons:
            apart = at_once(page_apart(store, made, reasons))
            at_once(WithinDoor(door, reason=reason).store(apart))
        elif made != before:
            at_once(store.update_page(made))
        door.detail.update(entry=entry.id, key=key_hash(entry.key), keys=1)
        held = tuple(one["reason"] for one in reasons)
        return replace(_opened(door, page_entry(door, entry_id)), held=held)


@tried_again
def confirm_page(caller: MemoryCaller, *, entry_id: UUID | str) -> Opened:
    """Somebody looked and found it still right: it is stale no longer."""
    place = entry_place(caller, entry_id)
    with opened(caller, "write", "memory.edited", namespace=place) as door:
        door.claim()
        page = from_entry(page_entry(door, entry_id))
        at_once(_store(door, "confirmed").confirm(page.id))
        door.detail.update(entry=str(entry_id), keys=1)
        return _opened(door, page_entry(door, entry_id))


@tried_again
def delete_page(caller: MemoryCaller, *, entry_id: UUID | str, reason: str = "") -> Forgotten:
    """Soft, as any forgetting; what refers to it is stale from now on."""
    place = entry_place(caller, entry_id)
    with opened(caller, "forget", "memory.forgotten", namespace=place) as door:
        entry = page_entry(door, entry_id)
        return forget_chosen(door, lambda found: found.filter(pk=entry.id), reason)


@tried_again
def page_revisions(
    caller: MemoryCaller, *, entry_id: UUID | str
) -> tuple[MemoryEntry, list[KnowledgePage]]:
    """Newest first, with the entry they are of."""
    place = entry_place(caller, entry_id)
    with opened(caller, "view", "memory.listed", namespace=place) as door:
        entry = page_entry(door, entry_id)
        past = at_once(_store(door).revisions(from_entry(entry).id))
        door.detail.update(entry=str(entry_id), revisions=len(past))
        return entry, list(reversed(past))


MOST_AT_ONCE = 1_000
MOST_FOUND = 100
_WRITABLE = {"title", "summary", "content", "tags", "references", "aliases"}


def _near(door: Door, meaning: Meaning | None) -> Mapping[str, float]:
    row = door.place.row
    return {} if row is None or door.elsewhere else near_keys(row, meaning, CATEGORY)


def check_sought(top_k: int, min_score: float) -> None:
    if not 1 <= top_k <= MOST_FOUND:
        raise InvalidInput(f"top_k: from 1 to {MOST_FOUND}.")
    if not 0 <= min_score <= 1:
        raise InvalidInput("min_score: from 0 to 1.")


def _opened(door: Door, entry: MemoryEntry) -> Opened:
    """``entry`` as it is now."""
    shelf, page = shelf_behind(door), from_entry(entry)
    page_id = page.id
    return Opened(
        page,
        entry,
        shelf.index.links.get(page_id, ()),
        shelf.index.backlinks.get(page_id, ()),
        tuple(mark for mark in shelf.index.stale if mark.page_id == page_id),
        shelf,
    )


def page_entry(door: Door, entry_id: UUID | str) -> MemoryEntry:
    row: Entry | None = None
    if door.place.row is not None:
        visible = rows.visible(door.place.row, door.now)
        row = visible.filter(pk=UUID(str(entry_id))).first()
    entry = row and rows.entry_of(row, door.text)
    if not entry or not is_page(entry):
        raise NotFound(_("There is no such page."))
    return entry


def _store(door: Door, reason: str = "") -> KnowledgeStore:
    within = WithinDoor(door, reason=reason)
    return KnowledgeStore(door.text, within, clock=lambda: door.now, source=door.caller.source)
