"""Erase a person's words from wikis: the sources that are theirs, and from shared pages what is there because of them.

Of the pages only the paragraphs of these sources are removed, with all earlier revisions; a page of which nothing is
left is erased. The rest of a page stays, and what other sources say about its subject is compiled anew by rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from config.retry import retry_on_conflict
from memory.core.records import Tier
from memory.core.scopes import parse_namespace
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.pages import PAGE_CATEGORY, KnowledgePage, from_entry
from memory.logic.knowledge.wiki_sources import SOURCE_CATEGORY, list_sources
from memory.logic.wiki.compilation import compile_by_rules, remove_gone_sources
from memory.logic.wiki.log import get_text
from memory.models import Entry, Namespace, Revision, WikiJob
from memory.models.entries import Operation
from memory.permissions import NamespaceTarget
from memory.policies import find_namespace_and_rules
from memory.providers.postgres import rows
from memory.services.erasure.erase_proposals import delete_proposals_about
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.namespace_access import NamespaceAccess


SOURCES: Final = "memory_source"  # counted in the receipt like a table
PAGES: Final = "memory_page"


def count_sources(
    team_id: UUID, person_ids: Sequence[str], erased: Iterable[UUID] = ()
) -> dict[str, int]:
    """Count the person's sources outside of the namespaces that are erased as a whole, and the pages with them."""
    counts = {SOURCES: 0, PAGES: 0}
    for entries in _group_sources(team_id, person_ids, erased):
        pages = _find_pages(entries[0].namespace, _list_source_ids(entries))
        counts = {SOURCES: counts[SOURCES] + len(entries), PAGES: counts[PAGES] + pages.count()}
    return counts


def list_source_entries(
    team_id: UUID, person_ids: Sequence[str], erased: Iterable[UUID] = ()
) -> list[Entry]:
    """Return the entries that ``count_sources`` counts: the person's sources, and the pages with them."""
    entries: list[Entry] = []
    for sources in _group_sources(team_id, person_ids, erased):
        entries += [*sources, *_find_pages(sources[0].namespace, _list_source_ids(sources))]
    return entries


def list_source_namespaces(team_id: UUID, person_ids: Sequence[str]) -> set[str]:
    """Return the namespaces with sources of the person, to lock them together with the person's own."""
    sources = _find_sources(team_id, person_ids).order_by()
    return set(sources.values_list("namespace__text", flat=True))


@retry_on_conflict
def erase_sources(
    caller: MemoryCaller, person_ids: Sequence[str], erased: Iterable[UUID] = ()
) -> Mapping[str, int]:
    """Erase the person's sources and what pages say because of them; return the number of both."""
    counts = {SOURCES: 0, PAGES: 0}
    for entries in _group_sources(caller.team_id, person_ids, erased):
        access = open_namespace(caller, entries[0].namespace)
        source_ids = _list_source_ids(entries)
        pages = list(_find_pages(access.claim(), source_ids))
        # What a model found in the pages may quote the person.
        WikiJob.objects.unscoped().filter(namespace=entries[0].namespace).delete()
        erase_entries(access, entries)
        for page in pages:
            _cut_page(access, page, source_ids)
        counts[SOURCES] += len(entries)
        counts[PAGES] += len(pages)
    return counts


def _find_sources(team_id: UUID, person_ids: Sequence[str]) -> QuerySet[Entry]:
    """Find the person's sources, whether in use, forgotten or in quarantine."""
    return Entry.objects.unscoped().filter(
        team_id=team_id, category=SOURCE_CATEGORY, metadata__person__in=list(person_ids)
    )


def _group_sources(
    team_id: UUID, person_ids: Sequence[str], erased: Iterable[UUID]
) -> Iterable[list[Entry]]:
    """Return the person's sources of each namespace."""
    sources = _find_sources(team_id, person_ids).exclude(namespace__in=list(erased))
    by_namespace: dict[UUID, list[Entry]] = {}
    for entry in sources.select_related("namespace").order_by("namespace_id", "id"):
        by_namespace.setdefault(entry.namespace_id, []).append(entry)
    return by_namespace.values()


def _list_source_ids(entries: Iterable[Entry]) -> frozenset[str]:
    return frozenset(get_text(entry.value, "id") for entry in entries)


def open_namespace(caller: MemoryCaller, row: Namespace) -> NamespaceAccess:
    """Open the namespace without a permission check: the erasure itself was permitted."""
    parsed = parse_namespace(row.text)
    app_id = parsed.ids[0] if parsed.text.startswith("global:") else ""
    namespace, rules = find_namespace_and_rules(caller.team_id, row.text, app_id)
    target = NamespaceTarget(caller.team_id, parsed, namespace)
    return NamespaceAccess(caller, "write", target, rules, timezone.now())


def _find_pages(namespace: Namespace, source_ids: Iterable[str]) -> QuerySet[Entry]:
    """Find the pages of which any revision, also one in quarantine, was written from one of the sources."""
    conditions = [Q(value__sources__contains=[{"id": source_id}]) for source_id in source_ids]
    revisions = Revision.objects.unscoped().filter(
        reduce(or_, conditions), entry__namespace=namespace, category=PAGE_CATEGORY
    )
    pages = Entry.objects.unscoped().filter(
        namespace=namespace, pk__in=revisions.values("entry_id")
    )
    return pages.order_by("id")


def _cut_page(access: NamespaceAccess, row: Entry, source_ids: frozenset[str]) -> None:
    """Remove from the page and its history what the sources say. A forgotten page is erased, as is an empty one."""
    page = from_entry(rows.build_entry(row, access.text))
    trimmed = remove_gone_sources(page, source_ids)
    is_in_use = row.deleted_at is None and row.tier != Tier.QUARANTINE
    if is_in_use and trimmed != page:
        store = access.open_store("erasure")
        sources = list_sources(store, access.text)
        remaining = {source.id: source for source in sources if source.id not in source_ids}
        trimmed = compile_by_rules(page, remaining, access.now)
    if not is_in_use or not trimmed.content.strip():
        erase_entries(access, [row])
        return
    if trimmed != page:
        _write(access, trimmed)
    with connection.cursor() as cursor:
        cursor.execute("SELECT memory_erase_history(%s)", [[row.pk]])


def _write(access: NamespaceAccess, page: KnowledgePage) -> None:
    store = access.open_store("erasure")
    KnowledgeStore(access.text, store, clock=lambda: access.now).update_page(page)


def erase_entries(access: NamespaceAccess, entries: Sequence[Entry]) -> None:
    """Forget the entries that are in use, which corrects the search index and the counts, and delete all for good.

    The proposals about them have their words and go, too.
    """
    living = [entry for entry in entries if entry.deleted_at is None]
    if living:
        rows.forget(access.claim(), living, access.build_context(Operation.FORGET, "erasure"))
    delete_proposals_about(entries)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM memory_erase_entries(%s)", [[entry.pk for entry in entries]])
