"""The memory port over a store alone, for runs in this process: without permissions and audit log."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar
from uuid import uuid4

from memory.core.errors import MemoryFault
from memory.core.records import Json, MemoryEntry, MemoryQuery, StoreParams, Tier
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import (
    Scope,
    build_notes_namespace,
    compute_lifetime,
    get_scope,
    parse_tier,
    require_variable,
)
from memory.logic.conversations.conversation_requests import (
    ConversationRequest,
    ConversationResult,
    perform_request,
)
from memory.logic.engine_port import EnginePort
from memory.logic.entries.held_entries import hold_entry
from memory.logic.entries.ingress import get_origin, screen_params
from memory.logic.entries.texts import join_texts
from memory.logic.judgement.asked_facts import name_reason
from memory.logic.judgement.judge import Judge, Proposal, Turn
from memory.logic.judgement.learning import StoreLearner, propose_for_store
from memory.logic.judgement.operations import LearnedChange, LearnRequest
from memory.logic.judgement.window import FactState, TurnFact
from memory.logic.knowledge.knowledge_base import list_page_entries
from memory.logic.knowledge.named_bases import (
    MAX_TITLES,
    TEAM_KNOWLEDGE,
    NamedKnowledgeBase,
    get_plain_name,
)
from memory.logic.knowledge.page_queries import PageContext, PageHit, PageQuery, search_pages
from memory.logic.knowledge.page_requests import PageWriteResult, write_drafts
from memory.logic.knowledge.pages import from_entry
from memory.logic.knowledge.wiki_sources import list_sources
from memory.logic.profile import Profile, build_profile, build_profile_query, keep_prompt_use
from memory.logic.steps import RunnableStore, Step, StepOrigin, StoreRequest
from memory.logic.wiki.actions import WikiAction, WikiResult, perform_action
from memory.logic.wiki.log import list_log
from memory.logic.wiki.wiki import Wiki
from memory.notes.metadata import save_todos


T = TypeVar("T")


def _find_of_others(step: Step, entries: Sequence[MemoryEntry]) -> frozenset[str]:
    """Return the ids of the entries that somebody else than the person of the step told a memory which people share."""
    person = step.source.actor
    if not person or get_scope(step.scope).seen_by is SeenBy.PERSON:
        return frozenset()
    return frozenset(entry.id for entry in entries if entry.source.actor not in ("", person))


class ProviderPort(EnginePort):
    """The port over a store, for the in-process runner: without permissions and audit log."""

    def __init__(self, entries: RunnableStore, judge: Judge | None = None) -> None:
        super().__init__()
        self._entries, self._judge = entries, judge
        self._notes_namespaces: set[str] = set()  # of runs that stored notes

    async def run(self, work: Callable[[], T]) -> T:
        return await self._entries.run(work)

    async def end_run(self, run_id: str) -> None:
        """Clear the run's notes; if that fails, they expire automatically."""
        notes = build_notes_namespace(run_id)
        if notes not in self._notes_namespaces:
            return
        self._notes_namespaces.discard(notes)
        with suppress(MemoryFault):
            await self.run(lambda: self._entries.clear_namespace(notes))

    async def save_todos(
        self,
        *,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        goal: str,
        todos: Sequence[Mapping[str, Json]],
    ) -> None:
        """Keep the goal and the todos of the run for three days, with the stream of its workflows."""
        await self.run(lambda: save_todos(self._entries, origin.run_id, identity, goal, todos))

    def _find_judge(self) -> Judge | None:
        return self._judge

    def _recall(self, step: Step, query: MemoryQuery, injected: bool) -> list[MemoryEntry]:
        entries = self._entries.recall(replace(query, namespace=step.namespace))
        return name_reason(query, entries)

    def _recall_profile(self, step: Step, injected: bool) -> Profile:
        return build_profile(self._entries.recall(build_profile_query(step.namespace)))

    def _load_states(self, step: Step, facts: Sequence[TurnFact]) -> Mapping[str, FactState]:
        ids = {fact.id for fact in facts}
        namespaces = {replace(step, scope=fact.scope).namespace for fact in facts}
        queries = [MemoryQuery(namespace, include_former=True) for namespace in sorted(namespaces)]
        return {
            entry.id: FactState(join_texts(entry.value), entry.valid_until)
            for query in queries
            for entry in self._entries.recall(query)
            if entry.id in ids
        }

    def _store(self, step: Step, request: StoreRequest) -> MemoryEntry:
        """Store the value without secrets; quarantine untrusted instructions beside an entry in use."""
        tier = parse_tier(request.tier)
        params = StoreParams(
            step.namespace, request.key, value=request.value, metadata=request.metadata, tier=tier
        )
        params = screen_params(params, get_origin(params)).params
        existing = next(
            iter(self._entries.recall(MemoryQuery(step.namespace, key=params.key))), None
        )
        if params.tier is Tier.QUARANTINE:
            params = hold_entry(params.key, params) if existing else params
        else:
            params = keep_prompt_use(params, existing)
        requested_ttl = None if params.tier is Tier.QUARANTINE else request.ttl_seconds
        ttl = compute_lifetime(step.scope, requested_ttl, str(params.tier))
        if step.scope == Scope.RUN:
            self._notes_namespaces.add(params.namespace)
        return self._entries.store(replace(params, ttl_seconds=ttl, source=step.source))

    def _propose(self, step: Step, turn: Turn) -> Proposal:
        find_of_others = partial(_find_of_others, step)
        return propose_for_store(self._entries, step.namespace, turn, find_of_others)

    def _learn(self, step: Step, request: LearnRequest) -> list[LearnedChange]:
        return StoreLearner(
            judge=self._judge,
            request=request,
            store=self._entries,
            namespace=step.namespace,
            source=step.source,
        ).learn()

    def _delete(self, step: Step, key: str | None, filter_: Mapping[str, Json] | None) -> int:
        namespace = step.namespace
        if key is not None and filter_ is None:
            return int(self._entries.delete(namespace, key))
        query = MemoryQuery(namespace, key=key, filter=filter_, include_former=True)
        entries = self._entries.recall(query)
        return sum(self._entries.delete(namespace, entry.key) for entry in entries)

    def _converse(self, step: Step, request: ConversationRequest) -> ConversationResult:
        conversation_id = require_variable(Scope.CONVERSATION, "conversation_id", step.identity)
        return perform_request(
            request, conversation_id, self._entries, new_id=lambda: uuid4().hex, source=step.source
        )

    def _find_pages(
        self, step: Step, search: PageQuery, namespaces: Sequence[str]
    ) -> Sequence[PageHit]:
        texts = namespaces or (step.namespace,)
        entries = [
            entry
            for text in texts
            for entry in list_page_entries(self._entries, text, include_former=False)
        ]
        sources = {
            (text, source.id): source
            for text in texts
            for source in list_sources(self._entries, text)
        }
        return search_pages(search, entries, context=PageContext(sources, {}))

    def _list_knowledge_bases(
        self, step: Step, namespaces: Sequence[str]
    ) -> Sequence[NamedKnowledgeBase]:
        return [self._describe_knowledge_base(text) for text in namespaces]

    def _describe_knowledge_base(self, namespace: str) -> NamedKnowledgeBase:
        entries = list_page_entries(self._entries, namespace, include_former=False, for_prompt=True)
        titles = sorted(from_entry(entry).title for entry in entries)[:MAX_TITLES]
        exists = bool(entries) or namespace == TEAM_KNOWLEDGE
        return NamedKnowledgeBase(namespace, get_plain_name(namespace), tuple(titles), exists)

    def _write_pages(
        self, step: Step, pages: Sequence[Mapping[str, Json]], mode: str
    ) -> Sequence[PageWriteResult]:
        return write_drafts(pages, self._entries, step.namespace, mode=mode, source=step.source)

    def _maintain_wiki(
        self, step: Step, action: WikiAction, arguments: Mapping[str, Json]
    ) -> WikiResult:
        namespace = step.namespace
        wiki = Wiki(namespace, self._entries, author=step.source)
        person = str(step.identity.get("user_id") or "")
        list_lines = partial(list_log, self._entries, namespace)
        return perform_action(wiki, action, arguments, list_lines, person=person)
