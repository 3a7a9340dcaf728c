"""The pages that runs found, as they may be cited to a reader now.

The text is that of the revision which the run read. A page that was forgotten or erased since is missing, and so is the
text of a revision that was erased because of a person whose words it contained.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from accounts.tenancy import reading
from memory import naming
from memory.core.records import Json, Tier
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import parse_namespace
from memory.logic.knowledge.pages import PAGE_CATEGORY
from memory.logic.knowledge.wiki_sources import SOURCE_CATEGORY, build_source_key
from memory.models import Entry, Namespace, Read, Revision
from memory.services.gateway.caller import MemoryCaller, select_visible


PageRead = tuple[str, UUID]  # a run's id, and the entry of a page that it found


@dataclass(frozen=True, slots=True)
class CitedPage:
    """A page as a run read it. ``can_open`` is false for a reader to whom only the answer shows the page.

    ``documents`` has title, kind, url and perhaps heading of what the page was made from, for those who may open it.
    """

    entry_id: UUID
    page_id: str
    title: str
    content: str
    namespace: str
    knowledge_base: str
    can_open: bool
    documents: Sequence[Mapping[str, str]] = ()


def load_cited_pages(
    caller: MemoryCaller, reads: Iterable[PageRead]
) -> Mapping[PageRead, CitedPage]:
    """Return those of the pages that are still there and that the reader may be told about.

    A page of a person's or a conversation's memory is left out for everybody else.
    """
    pairs = list(dict.fromkeys(reads))
    if not pairs:
        return {}
    with reading([caller.team_id]):
        entries = _load_entries(caller, {entry_id for _run, entry_id in pairs})
        namespaces = {entry.namespace_id: entry.namespace for entry in entries.values()}
        visible = select_visible(caller, Namespace).filter(pk__in=list(namespaces))
        visible_ids = set(visible.values_list("pk", flat=True))
        values = _load_read_values(caller.team_id, pairs)
        documents = _load_documents(
            [entry for entry in entries.values() if entry.namespace_id in visible_ids]
        )
        names = naming.name_namespaces(
            list(namespaces.values()), reader_id=caller.principal.user_id
        )
    titles = {namespace.row.pk: namespace.title for namespace in names}
    pages = {}
    for run_id, entry_id in pairs:
        entry = entries.get(entry_id)
        if entry is None or not _may_be_told(entry, visible_ids):
            continue
        value = values.get((run_id, entry_id))
        pages[run_id, entry_id] = CitedPage(
            entry_id,
            page_id=_get_text(entry.value, "id"),
            title=_get_text(value or entry.value, "title"),
            content=_get_text(value, "content") or _get_text(value, "summary"),
            namespace=entry.namespace.text,
            knowledge_base=titles[entry.namespace_id],
            can_open=entry.namespace_id in visible_ids,
            documents=documents.get(entry_id, ()),
        )
    return pages


def _load_entries(caller: MemoryCaller, ids: Iterable[UUID]) -> dict[UUID, Entry]:
    living: Any = Entry.objects.unscoped()  # Any: the manager types its model, not its queryset
    rows = living.living().filter(team_id=caller.team_id, pk__in=list(ids), category=PAGE_CATEGORY)
    return {row.pk: row for row in rows.exclude(tier=Tier.QUARANTINE).select_related("namespace")}


def _may_be_told(entry: Entry, visible_ids: set[UUID]) -> bool:
    is_shared = parse_namespace(entry.namespace.text).seen_by is SeenBy.TEAM
    return is_shared or entry.namespace_id in visible_ids


def _load_read_values(team_id: UUID, reads: Sequence[PageRead]) -> Mapping[PageRead, Json]:
    """Return the values of the revisions that the runs read, as far as they are still stored."""
    rows = Read.objects.unscoped().filter(
        team_id=team_id,
        run_id__in={run_id for run_id, _entry in reads},
        entry_id__in={entry_id for _run, entry_id in reads},
    )
    numbers = {
        (run_id, entry_id): number
        for run_id, entry_id, number in rows.order_by("at", "id").values_list(
            "run_id", "entry_id", "revision"
        )
    }
    revisions = Revision.objects.unscoped().filter(
        team_id=team_id,
        entry_id__in={entry_id for _run, entry_id in numbers},
        number__in=set(numbers.values()),
    )
    columns = revisions.values_list("entry_id", "number", "value")
    values = {(entry_id, number): value for entry_id, number, value in columns}
    return {
        (run_id, entry_id): values[entry_id, number]
        for (run_id, entry_id), number in numbers.items()
        if (entry_id, number) in values
    }


def _load_documents(entries: Sequence[Entry]) -> Mapping[UUID, Sequence[Mapping[str, str]]]:
    """Return what each page was made from, without what has been erased or forgotten since."""
    keys = {
        (entry.namespace_id, build_source_key(_get_text(source, "id"))): None
        for entry in entries
        for source in _list_sources(entry)
    }
    if not keys:
        return {}
    living: Any = Entry.objects.unscoped()  # Any: the manager types its model, not its queryset
    rows = living.living().filter(
        namespace_id__in={namespace_id for namespace_id, _key in keys},
        key__in={key for _namespace, key in keys},
        category=SOURCE_CATEGORY,
    )
    sources = {(row.namespace_id, row.key): row.value for row in rows}
    documents = {}
    for entry in entries:
        source_pairs = [
            (
                sources.get((entry.namespace_id, build_source_key(_get_text(reference, "id")))),
                reference,
            )
            for reference in _list_sources(entry)
        ]
        documents[entry.pk] = tuple(
            {
                **{name: _get_text(value, name) for name in ("title", "kind", "url")},
                "heading": _get_text(reference, "heading"),
            }
            for value, reference in source_pairs
            if value
        )
    return documents


def _list_sources(entry: Entry) -> Sequence[Json]:
    sources = entry.value.get("sources") if isinstance(entry.value, Mapping) else None
    return sources if isinstance(sources, list) else ()


def _get_text(value: Json, name: str) -> str:
    text = value.get(name) if isinstance(value, Mapping) else None
    return text if isinstance(text, str) else ""
