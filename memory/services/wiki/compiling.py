"""Compile pages anew from their sources, with the model that curates the memory or else by rules.

The model is asked outside of any transaction; the page is then written only if nobody changed it in the meantime.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.request_transaction import without_connection
from config.retry import retry_on_conflict
from memory.core.records import Json
from memory.logic.knowledge.page_gate import build_quarantined_page, screen_page
from memory.logic.knowledge.pages import KnowledgePage, from_entry
from memory.logic.knowledge.wiki_sources import WikiSource
from memory.logic.ports import AskModel
from memory.logic.wiki.compilation import BY_RULES, check_sources, compile_with_model
from memory.logic.wiki.log import COMPILED
from memory.services.curation.learning_rules import LearningRule
from memory.services.entries.edit import RevisionConflict
from memory.services.gateway import ingress_gate
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import authorize, open_entry
from memory.services.knowledge.pages import PageView, build_page_view, get_page_entry
from memory.services.wiki.inspect import find_model, get_overview
from memory.services.wiki.maintain import build_wiki


log = logging.getLogger(__name__)

MAX_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Compilation:
    """A page compiled anew, by a model or by ``rules``. ``problem`` says why not by the model that is set."""

    view: PageView
    by: str
    problem: str = ""
    held_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Material:
    page: KnowledgePage
    sources: dict[str, WikiSource]
    namespace: str


def compile_page(
    caller: MemoryCaller, *, entry_id: UUID | str, use_model: bool = True
) -> Compilation:
    """Compile the page from its present sources. Its earlier version stays as a revision.

    Raise InvalidInput for a page without sources.
    """
    material = _load_material(caller, entry_id)
    model, ask, learning = find_model(caller, material.namespace) if use_model else ("", None, None)
    draft, problem = None, ""
    has_sources = any(source.id in material.sources for source in material.page.sources)
    if ask is not None and learning is not None and has_sources:
        try:
            with without_connection(is_required=False):
                draft = asyncio.run(_ask(material, ask, model, learning))
        except Exception as error:  # whatever the provider raises: the rules do it instead
            log.warning("wiki_compiled_by_rules", extra={"why": str(error)})
            problem = f"{type(error).__name__}: {error}"[:500]
    return _store(caller, entry_id, material, draft, problem)


def compile_stale_pages(
    caller: MemoryCaller, *, namespace: str, use_model: bool = True
) -> Sequence[Compilation]:
    """Compile the stale pages of a namespace, at most twenty at once."""
    authorize(caller, "write", "memory.edited", namespace=namespace)
    overview = get_overview(caller, namespace=namespace)
    page_ids = list(dict.fromkeys(stale.page_id for stale in overview.stale))[:MAX_AT_ONCE]
    entries = overview.knowledge_base.entries
    return [
        compile_page(caller, entry_id=entries[page_id].id, use_model=use_model)
        for page_id in page_ids
    ]


@retry_on_conflict
def _load_material(caller: MemoryCaller, entry_id: UUID | str) -> _Material:
    with open_entry(caller, "write", "memory.listed", entry_id) as access:
        page = from_entry(get_page_entry(access, entry_id))
        check_sources(page)
        sources = {source.id: source for source in build_wiki(access).list_sources()}
        access.detail.update(entry=str(entry_id), keys=1)
        return _Material(page, sources, access.text)


async def _ask(
    material: _Material, ask: AskModel, model: str, learning: LearningRule
) -> KnowledgePage:
    asking = compile_with_model(
        material.page,
        material.sources,
        timezone.now(),
        ask,
        model=model,
        budget=learning.token_budget,
    )
    return await asyncio.wait_for(asking, learning.seconds)


@retry_on_conflict
def _store(
    caller: MemoryCaller,
    entry_id: UUID | str,
    material: _Material,
    draft: KnowledgePage | None,
    problem: str,
) -> Compilation:
    with open_entry(caller, "write", "memory.edited", entry_id) as access:
        wiki = build_wiki(access, COMPILED)
        entry = get_page_entry(access, entry_id)
        if entry.revision != material.page.revision:
            raise RevisionConflict(_("The page was changed in the meantime."))
        access.detail.update(entry=str(entry_id), keys=1)
        if draft is None:
            wiki.compile_by_rules(from_entry(entry))
            return Compilation(
                build_page_view(access, get_page_entry(access, entry_id)), BY_RULES, problem
            )
        page, reasons = _screen(caller, draft, material)
        held_for = tuple(str(reason["reason"]) for reason in reasons)
        if reasons:
            access.open_store(COMPILED).store(build_quarantined_page(wiki.pages, page, reasons))
        else:
            wiki.pages.update_page(page)
        return Compilation(
            build_page_view(access, get_page_entry(access, entry_id)),
            draft.compiled_by,
            held_for=held_for,
        )


def _screen(
    caller: MemoryCaller, draft: KnowledgePage, material: _Material
) -> tuple[KnowledgePage, Sequence[Json]]:
    """Return the page without secrets, and the reasons for a quarantine if it reads like instructions of a source."""
    default = ingress_gate.DEFAULT_ORIGINS[ingress_gate.get_writer(caller)]
    cited = (material.sources[s.id] for s in draft.sources if s.id in material.sources)
    untrusted = next((source.origin for source in cited if source.origin), draft.origin)
    return screen_page(draft, {"origin": untrusted} if untrusted else {}, default)
