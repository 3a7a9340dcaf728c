"""What a workflow asks of knowledge pages: JSON as a node has it in, pages and entries out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from memory.core.errors import InvalidInput
from memory.core.provider import Clock, NamespaceStore, utc_now
from memory.core.recall.tokens import DEFAULT_LANGUAGE
from memory.core.records import Json, MemoryEntry, Source
from memory.logic.entries.duplicates import normalize
from memory.logic.entries.origins import ContentOrigin
from memory.logic.knowledge.knowledge_base import KnowledgeStore, Written
from memory.logic.knowledge.page_gate import judged_page, page_apart
from memory.logic.knowledge.page_merge import Twin
from memory.logic.knowledge.pages import KnowledgePage, from_entry, key_of, slug
from memory.logic.knowledge.retriever import NOTHING_NEAR, RetrieverConfig, ScoredItem, rank_pages


MERGE, REPLACE = "merge", "replace"
MODES = (MERGE, REPLACE)


@dataclass(frozen=True, slots=True)
class Sought:
    """``tags``: only pages that have one of them."""

    query: str
    max_results: int = 20
    min_score: float = 0.1
    tags: tuple[str, ...] = ()
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found, with its entry, which carries the score."""

    item: ScoredItem
    entry: MemoryEntry

    @property
    def page(self) -> Mapping[str, Json]:
        return page_json(self.item.page)

    @property
    def score(self) -> float:
        return self.item.score

    @property
    def parts(self) -> Mapping[str, float]:
        return self.item.parts


@dataclass(frozen=True, slots=True)
class Kept:
    """``merged_for`` says why it went into a page that was there: title, alias, content.

    ``held``: why it waits for a person instead, in quarantine, where ``entry`` is.
    """

    written: Written
    entry: MemoryEntry
    held: tuple[str, ...] = ()

    @property
    def page(self) -> Mapping[str, Json]:
        return page_json(self.written.page)

    @property
    def merged_for(self) -> str:
        return str(self.written.merged_for or "")


def find(
    sought: Sought, entries: Iterable[MemoryEntry], near: Mapping[str, float] = NOTHING_NEAR
) -> tuple[Hit, ...]:
    """Rank ``entries``, which are pages. An empty question finds nothing, as in Dify.

    ``near``: how near they are in meaning, by key.
    """
    if not sought.query.strip():
        return ()
    found = {one.key: one for one in entries}
    pages = sorted(map(from_entry, found.values()), key=lambda page: page.id)
    wanted = {tag.casefold() for tag in sought.tags}
    if wanted:
        pages = [one for one in pages if not wanted.isdisjoint(map(str.casefold, one.tags))]
    hints = {page.id: near[key] for page in pages if (key := key_of(page.id)) in near}
    rules = RetrieverConfig(sought.max_results, sought.min_score, 1.0, sought.language)
    return tuple(
        _hit(item, found[key_of(item.page.id)])
        for item in rank_pages(sought.query, pages, rules, hints)
    )


def write(
    drafts: Sequence[Mapping[str, Json]],
    entries: NamespaceStore,
    namespace: str,
    *,
    mode: str = MERGE,
    clock: Clock = utc_now,
    source: Source = Source(),  # noqa: B008 - a frozen value
    origin: ContentOrigin = ContentOrigin.MODEL,
) -> tuple[Kept, ...]:
    """One after the other, so that two drafts about one thing end up in one page, too.

    A draft says whose words it is (``origin``; else they are as the argument has it), and ``hold``
    where it is to be looked at first.
    """
    if mode not in MODES:
        raise InvalidInput(f"mode: use one of {', '.join(MODES)}.")
    judged = [judged_page(draft_of(one), one, origin) for one in drafts]
    store = KnowledgeStore(namespace, entries, clock=clock, source=source)
    kept = []
    for page, reasons in judged:
        if reasons:
            entry = entries.store(page_apart(store, page, reasons))
            kept.append(Kept(Written(page), entry, tuple(one["reason"] for one in reasons)))
            continue
        written = _write(store, page, mode)
        kept.append(Kept(written, store.seen[key_of(written.page.id)]))
    return tuple(kept)


def draft_of(value: Json) -> KnowledgePage:
    """A page as somebody wrote it down; without an id it gets one from its title."""
    if not isinstance(value, Mapping):
        raise InvalidInput("pages: each must be an object with title and content.")
    return KnowledgePage(
        id=_text(value, "id").strip(),
        title=_text(value, "title"),
        summary=_text(value, "summary"),
        content=_text(value, "content"),
        tags=texts_of(value.get("tags"), "tags"),
        references=texts_of(value.get("references"), "references"),
        aliases=texts_of(value.get("aliases"), "aliases"),
    )


def texts_of(value: Json, name: str) -> tuple[str, ...]:
    """A list of texts, or one text with commas between."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.replace("，", ",").split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise InvalidInput(f"{name}: must be a list of texts.")
    return tuple(one.strip() for one in value if one.strip())


def page_json(page: KnowledgePage) -> dict[str, Json]:
    """For readers; what the store keeps besides stays with it."""
    return {
        "id": page.id,
        "title": page.title,
        "summary": page.summary,
        "content": page.content,
        "tags": list(page.tags),
        "references": list(page.references),
        "aliases": list(page.aliases),
        "created_at": page.created_at.isoformat() if page.created_at else None,
        "updated_at": page.updated_at.isoformat() if page.updated_at else None,
        "revision": page.revision,
    }


def _write(store: KnowledgeStore, page: KnowledgePage, mode: str) -> Written:
    if not page.id:
        return _write_by_title(store, page, mode)
    before = store.get_page(page.id)
    if before is None:
        return store.write(page) if mode == MERGE else Written(store.add_page(page))
    if mode == MERGE:
        return Written(store.grow(before, page), Twin.TITLE)
    return Written(_replaced(store, before, page))


def _write_by_title(store: KnowledgeStore, page: KnowledgePage, mode: str) -> Written:
    pages = store.pages()
    named = replace(page, id=_free_id(page.title, {one.id for one in pages}))
    if mode == MERGE:
        return store.write(named)
    title = normalize(page.title)
    before = next((one for one in pages if normalize(one.title) == title), None)
    if before is None:
        return Written(store.add_page(named))
    return Written(_replaced(store, before, replace(page, id=before.id)))


def _replaced(store: KnowledgeStore, before: KnowledgePage, page: KnowledgePage) -> KnowledgePage:
    """Nothing is written where it says the same; the other names it goes by stay."""
    made = replace(
        before, title=page.title, summary=page.summary, content=page.content, tags=page.tags,
        references=page.references, aliases=page.aliases or before.aliases, origin=page.origin,
    )  # fmt: skip
    return before if made == before else store.update_page(made)


def _free_id(title: str, taken: Iterable[str]) -> str:
    """C and C++ have one slug and are two pages."""
    stem, taken = slug(title), frozenset(taken)
    if stem not in taken:
        return stem
    return next(one for number in count(2) if (one := f"{stem}-{number}") not in taken)


def _hit(item: ScoredItem, entry: MemoryEntry) -> Hit:
    return Hit(item, replace(entry, score=min(1.0, item.score), explain=dict(item.parts)))


def _text(value: Mapping[str, Json], name: str) -> str:
    found = value.get(name)
    if found is None or isinstance(found, str):
        return found or ""
    raise InvalidInput(f"{name}: must be a text.")
