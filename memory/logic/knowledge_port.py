"""The part of the port for the nodes of a workflow that reads and writes the pages of knowledge bases and wikis."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from memory.core.errors import NotFound
from memory.core.records import Json, PromptUse
from memory.core.scopes import Scope
from memory.logic.knowledge.named_bases import NamedKnowledgeBase, parse_knowledge_bases
from memory.logic.knowledge.page_queries import MetadataFilter, PageHit, PageQuery
from memory.logic.knowledge.page_requests import MERGE, PageWriteResult
from memory.logic.steps import Redact, Step, StepOrigin, keep_unchanged
from memory.logic.wiki.actions import WikiAction, WikiResult, parse_action


T = TypeVar("T")


class KnowledgePort(ABC):
    """The base class of ``EnginePort``. ``redact`` removes from stored values the content that must not outlive the run."""

    def __init__(self, redact: Redact = keep_unchanged) -> None:
        self._redact = redact

    @abstractmethod
    async def run(self, work: Callable[[], T]) -> T:
        """Run ``work``, which may wait, without blocking the event loop."""

    @abstractmethod
    def _select(self, step: Step) -> "KnowledgePort":
        """Return the port that serves the step."""

    async def find_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        query: str,
        top_k: int = 20,
        min_score: float = 0.1,
        tags: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        accepts: MetadataFilter | None = None,
    ) -> Sequence[PageHit]:
        step, texts = Step(scope, identity, origin), parse_knowledge_bases(namespaces)
        search = PageQuery(query, top_k, min_score, tuple(tags), accepts=accepts, for_prompt=True)
        return await self.run(lambda: self._find_pages(step, search, texts))

    async def list_knowledge_bases(
        self, *, identity: Mapping[str, Json], origin: StepOrigin, namespaces: Sequence[str]
    ) -> Sequence[NamedKnowledgeBase]:
        step, texts = Step(Scope.GLOBAL.value, identity, origin), parse_knowledge_bases(namespaces)
        return await self.run(lambda: self._list_knowledge_bases(step, texts))

    async def write_pages(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        pages: Sequence[Mapping[str, Json]],
        mode: str = MERGE,
    ) -> Sequence[PageWriteResult]:
        step, pages = Step(scope, identity, origin), self._redact(pages)
        return await self.run(lambda: self._select(step)._write_pages(step, pages, mode))

    async def maintain_wiki(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        action: str,
        arguments: Mapping[str, Json],
    ) -> WikiResult:
        step, arguments = Step(scope, identity, origin), self._redact(dict(arguments))
        parsed = parse_action(action)
        result = await self.run(lambda: self._select(step)._maintain_wiki(step, parsed, arguments))
        is_read = parsed is WikiAction.READ
        if is_read and any(entry.prompt_use is PromptUse.NEVER for entry in result.entries):
            raise NotFound(f"Page {arguments.get('page')} may enter no prompt.")
        return result

    @abstractmethod
    def _find_pages(
        self, step: Step, search: PageQuery, namespaces: Sequence[str]
    ) -> Sequence[PageHit]:
        """Search these knowledge bases together, or without any the step's namespace."""

    @abstractmethod
    def _list_knowledge_bases(
        self, step: Step, namespaces: Sequence[str]
    ) -> Sequence[NamedKnowledgeBase]:
        """Return the knowledge bases in this order, those that don't exist included."""

    @abstractmethod
    def _write_pages(
        self, step: Step, pages: Sequence[Mapping[str, Json]], mode: str
    ) -> Sequence[PageWriteResult]: ...

    @abstractmethod
    def _maintain_wiki(
        self, step: Step, action: WikiAction, arguments: Mapping[str, Json]
    ) -> WikiResult: ...
