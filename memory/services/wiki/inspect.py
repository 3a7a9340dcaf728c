"""Read the sources of a wiki, its stale pages and the report of what is wrong in it."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from accounts.request_transaction import without_connection
from config.retry import retry_on_conflict
from memory.core.identifiers import unescape
from memory.host import get_host
from memory.logic.knowledge.wiki_sources import WikiSource
from memory.logic.ports import AskModel
from memory.logic.wiki.lint import LintFinding, find_model_contradictions, lint_pages
from memory.logic.wiki.staleness import StaleSource
from memory.services.curation.learning_rules import LearningRule, get_learning_rule
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.knowledge.bulk_pages import KnowledgeBase, load_knowledge_base
from memory.services.wiki.maintain import build_wiki


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WikiOverview:
    """The pages of a namespace, their sources, and the pages that have to be compiled anew."""

    knowledge_base: KnowledgeBase
    sources: Sequence[WikiSource]
    stale: Sequence[StaleSource]


@dataclass(frozen=True, slots=True)
class LintReport:
    """The report says what is wrong in a wiki. ``model`` is the one that looked for contradictions too, or empty; ``problem`` why not.

    ``by_model`` are those findings that the model alone has found.
    """

    overview: WikiOverview
    findings: Sequence[LintFinding]
    model: str = ""
    problem: str = ""
    by_model: Sequence[LintFinding] = ()


@retry_on_conflict
def get_overview(caller: MemoryCaller, *, namespace: str) -> WikiOverview:
    with open_namespace(caller, "view", "memory.listed", namespace=namespace) as access:
        overview = load_overview(access)
        access.detail.update(keys=len(overview.knowledge_base.pages), pages=True)
        return overview


def lint_wiki(caller: MemoryCaller, *, namespace: str, use_model: bool = False) -> LintReport:
    """Report what is wrong. With ``use_model``, the team's model looks for contradictions, too."""
    overview = get_overview(caller, namespace=namespace)
    pages = overview.knowledge_base.pages
    findings = list(lint_pages(pages, overview.sources))
    model, ask, learning = find_model(caller, namespace) if use_model else ("", None, None)
    if ask is None or learning is None:
        return LintReport(overview, findings)
    try:
        with without_connection(is_required=False):
            model_findings = asyncio.run(_ask_for_contradictions(overview, ask, learning))
    except Exception as error:  # whatever the model's provider raises; the rules' report is shown
        log.warning("wiki_lint_without_model", extra={"why": str(error)})
        return LintReport(overview, findings, problem=f"{type(error).__name__}: {error}"[:500])
    known_findings = {(finding.kind, finding.page_id, finding.other) for finding in findings}
    by_model = [
        item
        for item in model_findings
        if (item.kind, item.page_id, item.other) not in known_findings
    ]
    return LintReport(overview, [*findings, *by_model], model, by_model=by_model)


def load_overview(access: NamespaceAccess) -> WikiOverview:
    knowledge_base = load_knowledge_base(access)
    wiki = build_wiki(access)
    sources = () if access.is_withheld else wiki.list_sources()
    return WikiOverview(knowledge_base, sources, knowledge_base.stale)


def find_model(
    caller: MemoryCaller, namespace: str
) -> tuple[str, AskModel | None, LearningRule | None]:
    """Return the name of the model by which the application's memory is curated, and the function that asks it."""
    app_id = unescape(namespace.removeprefix("global:")) if namespace.startswith("global:") else ""
    learning = get_learning_rule(caller.team_id, app_id)
    ask = get_host().find_model(caller.team_id, learning.provider, learning.model)
    return f"{learning.provider}/{learning.model}".rstrip("/"), ask, learning


async def _ask_for_contradictions(
    overview: WikiOverview, ask: AskModel, learning: LearningRule
) -> tuple[LintFinding, ...]:
    pages = overview.knowledge_base.pages
    asking = find_model_contradictions(pages, ask, budget=learning.token_budget)
    return await asyncio.wait_for(asking, learning.seconds)
