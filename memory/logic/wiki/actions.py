"""The actions of a wiki that nodes and agents request, each with its arguments and its result in JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from memory.core.errors import InvalidInput
from memory.core.records import Json, MemoryEntry
from memory.logic.knowledge.page_queries import build_page_json
from memory.logic.knowledge.page_requests import MERGE
from memory.logic.knowledge.wiki_sources import WikiSource, parse_source
from memory.logic.wiki.lint import LintFinding
from memory.logic.wiki.log import COMPILED, LINKED, LogLine
from memory.logic.wiki.staleness import StaleSource
from memory.logic.wiki.wiki import Wiki


class WikiAction(StrEnum):
    INGEST = "ingest"  # record a source, and write pages from it
    READ = "read"  # one page with the texts of its sources
    LINK = "link"
    COMPILE = "compile"  # by rules; all stale pages without a page's name
    STALE = "list_stale"
    LINT = "lint"
    SOURCES = "sources"
    LOG = "log"


WRITING: Final = frozenset({WikiAction.INGEST, WikiAction.LINK, WikiAction.COMPILE})
# The reasons under which the writes of an action are in the history.
REASONS: Final[Mapping[WikiAction, str]] = {
    WikiAction.LINK: LINKED,
    WikiAction.COMPILE: COMPILED,
}
ListLog = Callable[[], Sequence[LogLine]]


@dataclass(frozen=True, slots=True)
class WikiResult:
    """The result of an action. ``entries`` are those of pages that were read or written, and ``held`` those in quarantine."""

    data: Mapping[str, Json]
    entries: tuple[MemoryEntry, ...] = ()
    held: tuple[MemoryEntry, ...] = ()
    is_untrusted: bool = False  # whether the data contains text of an untrusted source


def parse_action(action: str) -> WikiAction:
    if action not in list(WikiAction):
        raise InvalidInput(f"action: use one of {', '.join(WikiAction)}.")
    return WikiAction(action)


def perform_action(
    wiki: Wiki,
    action: WikiAction,
    arguments: Mapping[str, Json],
    list_log: ListLog,
    *,
    person: str = "",
) -> WikiResult:
    """Carry out an action. ``person`` is whom a source in a run is from; raise InvalidInput for wrong arguments."""
    if action is WikiAction.INGEST:
        return _ingest(wiki, arguments, person)
    if action is WikiAction.READ:
        return _read(wiki, arguments)
    if action is WikiAction.LINK:
        return _link(wiki, arguments)
    if action is WikiAction.COMPILE:
        return _compile(wiki, arguments)
    if action is WikiAction.STALE:
        stale = list(map(describe_stale, wiki.list_stale()))
        return _build_report(wiki, {"stale": stale, "count": len(stale)})
    if action is WikiAction.LINT:
        findings = list(map(describe_finding, wiki.lint()))
        return _build_report(wiki, {"findings": findings, "count": len(findings)})
    if action is WikiAction.SOURCES:
        sources = list(map(describe_source, wiki.list_sources()))
        return _build_report(wiki, {"sources": sources, "count": len(sources)})
    lines = list(map(describe_line, list_log()))
    return _build_report(wiki, {"log": lines, "count": len(lines)})


def _build_report(wiki: Wiki, data: Mapping[str, Json]) -> WikiResult:
    """Return data about the whole wiki. Titles and sentences of any page or source may be in it."""
    origins = [
        *(page.origin for page in wiki.pages.list_pages()),
        *(source.origin for source in wiki.list_sources()),
    ]
    return WikiResult(data, is_untrusted=any(origins))


def describe_source(source: WikiSource) -> dict[str, Json]:
    return {
        "id": source.id,
        "title": source.title,
        "kind": str(source.kind),
        "url": source.url,
        "digest": source.digest,
        "revision": source.revision,
        "updated_at": source.updated_at.isoformat() if source.updated_at else None,
    }


def describe_stale(stale: StaleSource) -> dict[str, Json]:
    return {"page": stale.page_id, "source": stale.source_id, "why": str(stale.reason)}


def describe_finding(finding: LintFinding) -> dict[str, Json]:
    return {
        "kind": str(finding.kind),
        "page": finding.page_id,
        "other": finding.other,
        "detail": finding.detail,
        "remedy": str(finding.remedy),
    }


def describe_line(line: LogLine) -> dict[str, Json]:
    values = asdict(line)
    return {**values, "at": line.at.isoformat(), "action": str(line.action)}


def _ingest(wiki: Wiki, arguments: Mapping[str, Json], person: str) -> WikiResult:
    source = parse_source(arguments.get("source"), default_person=person)
    drafts = arguments.get("pages") or []
    if not isinstance(drafts, list | tuple) or not all(isinstance(d, Mapping) for d in drafts):
        raise InvalidInput("pages: must be a list of objects.")
    result = wiki.ingest(source, drafts, mode=str(arguments.get("mode") or MERGE))
    written = [page for page in result.pages if not page.held_for]
    data = {
        "source": describe_source(result.source),
        "is_new": result.is_new,
        "held_for": list(result.held),
        "pages": [{**page.page, "merged_for": page.merged_for} for page in written],
        "count": len(written),
        "merged": sum(bool(page.merged_for) for page in written),
    }
    held = [page.entry for page in result.pages if page.held_for]
    if result.held:
        held.append(result.entry)
    return WikiResult(data, tuple(page.entry for page in written), tuple(held))


def _read(wiki: Wiki, arguments: Mapping[str, Json]) -> WikiResult:
    page = wiki.find_page(_get_text(arguments, "page"))
    cited = {source.id for source in page.sources}
    sources = [source for source in wiki.list_sources() if source.id in cited]
    links = wiki.pages.build_index()
    entry = wiki.pages.entries_by_key[f"page:{page.id}"]
    data = {
        "page": build_page_json(page),
        "sources": [{**describe_source(source), "text": source.text} for source in sources],
        "links": list(links.links.get(page.id, ())),
        "backlinks": list(links.backlinks.get(page.id, ())),
        "stale": [describe_stale(s) for s in wiki.list_stale() if s.page_id == page.id],
    }
    is_untrusted = bool(page.origin) or any(source.origin for source in sources)
    return WikiResult(data, (entry,), is_untrusted=is_untrusted)


def _link(wiki: Wiki, arguments: Mapping[str, Json]) -> WikiResult:
    pages = wiki.link_pages(_get_text(arguments, "page"), _get_text(arguments, "other"))
    entries = tuple(wiki.pages.entries_by_key[f"page:{page.id}"] for page in pages)
    return WikiResult({"pages": [build_page_json(page) for page in pages]}, entries)


def _compile(wiki: Wiki, arguments: Mapping[str, Json]) -> WikiResult:
    name = str(arguments.get("page") or "")
    if name:
        names = [wiki.find_page(name).id]
    else:
        names = list(dict.fromkeys(stale.page_id for stale in wiki.list_stale()))
    pages = [wiki.compile_by_rules(wiki.find_page(page_id)) for page_id in names]
    entries = tuple(wiki.pages.entries_by_key[f"page:{page.id}"] for page in pages)
    data = {"pages": [build_page_json(page) for page in pages], "count": len(pages)}
    return WikiResult(data, entries)


def _get_text(arguments: Mapping[str, Json], name: str) -> str:
    text = arguments.get(name)
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"{name}: required.")
    return text.strip()
