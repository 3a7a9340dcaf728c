"""Search pages in one namespace, or in several knowledge bases whose pages are ranked together."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from django.db.models.fields.json import KeyTextTransform

from accounts.models import User
from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput
from memory.core.provider import check_min_score, utc_now
from memory.core.records import MemoryEntry, MemoryQuery
from memory.logic.knowledge.page_queries import (
    Address,
    MetadataFilter,
    PageContext,
    PageHit,
    PageQuery,
    search_pages,
)
from memory.logic.knowledge.pages import PAGE_CATEGORY, from_entry
from memory.logic.knowledge.wiki_sources import (
    SourceKind,
    WikiSource,
    build_source_key,
    list_sources,
)
from memory.providers.postgres import rows
from memory.providers.postgres.vectors import compute_nearness_by_key
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.knowledge.search_candidates import list_candidate_pages
from memory.services.recall.recall import open_for_query, open_several_for_query, record_reads


MAX_RESULTS: Final = 100
# The properties of a source that pages show; its text can be long and is not read.
_SOURCE_COLUMNS: Final = tuple(
    KeyTextTransform(name, "value") for name in ("id", "title", "kind", "url")
)


@retry_on_conflict
def find_pages(
    caller: MemoryCaller,
    *,
    query: str,
    scope: str | None = None,
    namespace: str | None = None,
    top_k: int = 20,
    min_score: float = 0.1,
    tags: Sequence[str] = (),
    accepts: MetadataFilter | None = None,
    for_prompt: bool = False,
) -> tuple[PageHit, ...]:
    """Return the pages that match the query by their words or their meaning, best first.

    Keys never find what may enter no prompt, because their results may be put into one.
    """
    check_search(top_k, min_score)
    page_query = PageQuery(
        query,
        top_k,
        min_score,
        tuple(tags),
        accepts=accepts,
        for_prompt=for_prompt or caller.principal.kind != "user",
    )
    text_query = MemoryQuery("", query_text=query)
    with open_for_query(caller, text_query, scope=scope, namespace=namespace) as (access, embedded):
        return _search_opened([access], page_query, embedded)


@retry_on_conflict
def find_pages_in(
    caller: MemoryCaller, *, namespaces: Sequence[str], page_query: PageQuery
) -> tuple[PageHit, ...]:
    """Search these knowledge bases together, with an audit entry for each. One that doesn't exist has no pages.

    Raise an error that names the knowledge base if the caller may not view one of them.
    """
    check_search(page_query.max_results, page_query.min_score)
    text_query = MemoryQuery("", query_text=page_query.text)
    with open_several_for_query(caller, text_query, namespaces) as (accesses, embedded):
        return _search_opened(accesses, page_query, embedded)


def check_search(top_k: int, min_score: float) -> None:
    if not 1 <= top_k <= MAX_RESULTS:
        raise InvalidInput(f"top_k: from 1 to {MAX_RESULTS}.")
    check_min_score(min_score)


def load_sources(
    access: NamespaceAccess, entries: Iterable[MemoryEntry]
) -> dict[Address, WikiSource]:
    """Return the sources of these pages, without their texts."""
    source_ids = {source.id for entry in entries for source in from_entry(entry).sources}
    if not source_ids:
        return {}
    if access.external is not None or access.target.row is None:
        sources = list_sources(access.open_store(), access.text)
        return {(access.text, source.id): source for source in sources}
    visible = rows.find_visible(access.target.row, access.now)
    keys = [build_source_key(source_id) for source_id in source_ids]
    columns = visible.filter(key__in=keys).order_by().values_list(*_SOURCE_COLUMNS)
    return {
        (access.text, id_): WikiSource(id_, title, "", SourceKind(kind), url)
        for id_, title, kind, url in columns
    }


def load_names(entries: Iterable[MemoryEntry]) -> Mapping[str, str]:
    """Return the names of the members who wrote these pages, by actor."""
    actors = {entry.source.actor for entry in entries}
    ids = {UUID(actor.removeprefix("user:")): actor for actor in actors if actor[:5] == "user:"}
    users = User.objects.filter(pk__in=ids).values_list("pk", "name", "email")
    return {ids[pk]: name or email for pk, name, email in users}


def _search_opened(
    accesses: Sequence[NamespaceAccess], query: PageQuery, embedded: MemoryQuery
) -> tuple[PageHit, ...]:
    """Search the namespaces that are open, and note in their audit entries what was found."""
    targets = [access.target.row for access in accesses if not access.external]
    namespaces = [target for target in targets if target is not None]
    now = accesses[0].now if accesses else utc_now()
    nearness = compute_nearness_by_key(namespaces, embedded.meaning, PAGE_CATEGORY, now)
    entries: list[MemoryEntry] = []
    sources: dict[Address, WikiSource] = {}
    for access in accesses:
        near_keys = [key for namespace, key in nearness if namespace == access.text]
        candidates = list_candidate_pages(
            access, query.text, near_keys, is_filtered=query.is_filtered
        )
        sources |= load_sources(access, candidates)
        entries += candidates
    names = load_names(entries) if query.accepts else {}
    hits = search_pages(query, entries, nearness, PageContext(sources, names))
    for access in accesses:
        hit_entries = [hit.entry for hit in hits if hit.entry.namespace == access.text]
        access.detail.update(keys=len(hit_entries), pages=True)
        record_reads(access, hit_entries, injected=False)
    return hits
