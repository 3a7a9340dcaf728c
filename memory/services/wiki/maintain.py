"""Record sources, link, merge and compile pages for a caller, as one change each that can be undone as a whole."""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from config.retry import retry_on_conflict
from memory.core.records import Json
from memory.logic.knowledge.page_requests import MERGE
from memory.logic.knowledge.pages import KnowledgePage, from_entry
from memory.logic.knowledge.wiki_sources import SourceKind, parse_source
from memory.logic.wiki.actions import (
    REASONS,
    WRITING,
    WikiAction,
    WikiResult,
    perform_action,
)
from memory.logic.wiki.wiki import IngestResult, Wiki
from memory.services.gateway import ingress_gate
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_entry, open_namespace
from memory.services.gateway.namespace_access import Batch, NamespaceAccess
from memory.services.knowledge.pages import get_page_entry
from memory.services.wiki.log import read_log_lines


MAX_PAGES = 200  # that one source may be written into at once


@retry_on_conflict
def maintain_wiki(
    caller: MemoryCaller,
    *,
    scope: str,
    action: WikiAction,
    arguments: Mapping[str, Json],
) -> WikiResult:
    """Carry out the action of a node or an agent in the namespace of its scope."""
    verb, audit_action = (
        ("write", "memory.stored") if action in WRITING else ("view", "memory.listed")
    )
    with open_namespace(caller, verb, audit_action, scope=scope) as access:  # type: ignore[arg-type]  # both are verbs
        wiki = build_wiki(access, REASONS.get(action, str(action)))
        person = str(caller.identity.get("user_id") or "")
        list_lines = partial(read_log_lines, access)
        result = perform_action(wiki, action, arguments, list_lines, person=person)
        access.detail.update(keys=len(result.entries), pages=True, wiki=str(action))
        if result.held:
            access.detail["held"] = len(result.held)
        return result


@retry_on_conflict
def ingest_source(
    caller: MemoryCaller,
    *,
    source: Mapping[str, Json],
    pages: Sequence[Mapping[str, Json]] = (),
    namespace: str,
    mode: str = MERGE,
) -> IngestResult:
    """Record a source, and write pages from it. The same text of the same source changes nothing.

    Only of a conversation the caller is the person; another text is theirs if the source names them.
    """
    is_conversation = source.get("kind") == SourceKind.CONVERSATION
    person = str(caller.principal.user_id or "") if is_conversation else ""
    parsed = parse_source(source, default_person=person)
    with open_namespace(caller, "write", "memory.stored", namespace=namespace) as access:
        result = build_wiki(access, str(WikiAction.INGEST)).ingest(
            parsed, pages[:MAX_PAGES], mode=mode
        )
        access.detail.update(
            keys=len(result.pages) + result.is_new, source=result.entry.id, pages=True
        )
        if result.held:
            access.detail["held"] = 1
        return result


@retry_on_conflict
def link_pages(
    caller: MemoryCaller, *, entry_id: UUID | str, other: str
) -> tuple[KnowledgePage, KnowledgePage]:
    """Let the page and another one, by id or title, refer to each other."""
    with open_entry(caller, "write", "memory.edited", entry_id) as access:
        page = from_entry(get_page_entry(access, entry_id))
        linked = build_wiki(access, REASONS[WikiAction.LINK]).link_pages(page.id, other)
        access.detail.update(entry=str(entry_id), keys=2)
        return linked


@retry_on_conflict
def merge_twins(caller: MemoryCaller, *, entry_id: UUID | str, other: str) -> KnowledgePage:
    """Merge another page, by id or title, into this one, and forget the other one. Needs the right to forget, too."""
    with open_entry(caller, "forget", "memory.forgotten", entry_id) as access:
        access.detail.update(entry=str(entry_id), keys=1)
    with open_entry(caller, "write", "memory.edited", entry_id) as access:
        wiki = build_wiki(access, "merged")
        page = from_entry(get_page_entry(access, entry_id))
        merged = wiki.merge_twins(page, wiki.find_page(other))
        access.detail.update(entry=str(entry_id), keys=2)
        return merged


def build_wiki(access: NamespaceAccess, reason: str = "") -> Wiki:
    """Return the wiki of an open namespace; what is written to it is one change."""
    store = Batch(access, reason).store if access.verb == "write" else access.open_store(reason)
    origin = ingress_gate.DEFAULT_ORIGINS[ingress_gate.get_writer(access.caller)]
    return Wiki(
        access.text,
        store,
        clock=lambda: access.now,
        author=access.caller.source,
        origin=origin,
    )
