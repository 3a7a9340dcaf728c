"""The engine's memory port for durable runs, implemented with the services.

The caller's identity from the server determines the namespace; values that a node passes are not used.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from config.postgres.outages import is_outage, retry_during_outage
from memory.core.errors import ProviderAway
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.core.scopes import compute_lifetime, get_stream_name, replace_group
from memory.embedding.judge import find_judge
from memory.logic.conversations.conversation_requests import ConversationRequest, ConversationResult
from memory.logic.engine_port import EnginePort
from memory.logic.judgement.judge import Decide, Judge, Proposal, Turn
from memory.logic.judgement.operations import LearnedChange, LearnRequest
from memory.logic.judgement.window import FactState, TurnFact
from memory.logic.knowledge.named_bases import NamedKnowledgeBase
from memory.logic.knowledge.page_queries import PageHit, PageQuery
from memory.logic.knowledge.page_requests import PageWriteResult
from memory.logic.profile import Profile
from memory.logic.steps import Redact, Step, StepOrigin, StoreRequest, keep_unchanged
from memory.logic.wiki.actions import WikiAction, WikiResult
from memory.providers.postgres.provider import run_in_database_thread
from memory.services.conversations.conversation import handle_conversation
from memory.services.entries.forget import forget
from memory.services.entries.forgotten import load_states
from memory.services.entries.learn import learn, learn_turn, propose_facts
from memory.services.entries.remember import remember
from memory.services.entries.run_notes import save_run_todos
from memory.services.gateway.caller import CallOrigin, MemoryCaller
from memory.services.knowledge.named_bases import list_named_bases
from memory.services.knowledge.page_finding import find_pages, find_pages_in
from memory.services.knowledge.pages import write_pages
from memory.services.recall.profile import recall_profile
from memory.services.recall.recall import recall_query
from memory.services.review.contradicting import propose_contradictions
from memory.services.wiki.maintain import maintain_wiki


T = TypeVar("T")

LoadCaller = Callable[[], MemoryCaller]


class RunMemory(EnginePort):
    """The engine's memory port for one run, limited to the namespaces of ``caller.reach``.

    The caller may also be a function that returns it, which is called when the run first uses its memory.
    """

    def __init__(self, caller: MemoryCaller | LoadCaller, redact: Redact = keep_unchanged) -> None:
        super().__init__(redact)
        self._caller_or_loader = caller

    @cached_property
    def caller(self) -> MemoryCaller:
        caller = self._caller_or_loader
        return caller if isinstance(caller, MemoryCaller) else caller()

    @property
    def is_used(self) -> bool:
        """Return whether the run has used its memory yet."""
        return "caller" in vars(self)

    async def run(self, work: Callable[[], T]) -> T:
        """Call ``work``, and again while the database or another provider is away.

        The database recognizes a step's repeated write by its origin. Another provider may store it as a revision more.
        """
        return await retry_during_outage(lambda: run_in_database_thread(work), _is_away)

    async def save_todos(
        self,
        *,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        goal: str,
        todos: Sequence[Mapping[str, Json]],
    ) -> None:
        """Keep the goal and the todos in the metadata of the run. What the node says about its identity is not used."""
        goal, todos = self._redact([goal, list(todos)])

        def save() -> None:
            caller = self.caller
            save_run_todos(
                caller.team_id,
                str(caller.identity["run_id"]),
                goal=goal,
                stream=get_stream_name(caller.identity),
                todos=todos,
            )

        await self.run(save)

    def _find_judge(self) -> Judge | None:
        return find_judge()

    def _recall(self, step: Step, query: MemoryQuery, injected: bool) -> list[MemoryEntry]:
        return recall_query(
            self._build_caller(step),
            query,
            scope=step.scope,
            injected=injected,
            with_notes=True,
        )

    def _recall_profile(self, step: Step, injected: bool) -> Profile:
        return recall_profile(self._build_caller(step), injected=injected)

    def _load_states(self, step: Step, facts: Sequence[TurnFact]) -> Mapping[str, FactState]:
        return load_states(self.caller.team_id, [fact.id for fact in facts])

    def _store(self, step: Step, request: StoreRequest) -> MemoryEntry:
        caller = self._build_caller(step)
        entry = remember(
            caller,
            scope=step.scope,
            key=request.key,
            value=request.value,
            metadata=request.metadata,
            tier=request.tier,
            ttl_seconds=compute_lifetime(step.scope, request.ttl_seconds, request.tier),
        )
        propose_contradictions(caller, [entry])
        return entry

    def _propose(self, step: Step, turn: Turn) -> Proposal:
        return propose_facts(self._build_caller(step), scope=step.scope, turn=turn)

    def _learn(self, step: Step, request: LearnRequest) -> list[LearnedChange]:
        return learn(self._build_caller(step), scope=step.scope, request=request)

    def _learn_turn(
        self, step: Step, turn: Turn, request: LearnRequest, decide: Decide
    ) -> tuple[Proposal, list[LearnedChange]]:
        if not turn.may_concern_known:
            return super()._learn_turn(step, turn, request, decide)
        caller = self._build_caller(step)
        return learn_turn(caller, scope=step.scope, turn=turn, request=request, decide=decide)

    def _delete(self, step: Step, key: str | None, filter_: Mapping[str, Json] | None) -> int:
        return forget(self._build_caller(step), scope=step.scope, key=key, filter=filter_).count

    def _converse(self, step: Step, request: ConversationRequest) -> ConversationResult:
        return handle_conversation(self._build_caller(step), request)

    def _find_pages(
        self, step: Step, search: PageQuery, namespaces: Sequence[str]
    ) -> Sequence[PageHit]:
        caller = self._build_caller(step)
        if namespaces:
            return find_pages_in(caller, namespaces=namespaces, page_query=search)
        return find_pages(
            caller,
            scope=step.scope,
            query=search.text,
            top_k=search.max_results,
            min_score=search.min_score,
            tags=search.tags,
            accepts=search.accepts,
            for_prompt=search.for_prompt,
        )

    def _list_knowledge_bases(
        self, step: Step, namespaces: Sequence[str]
    ) -> Sequence[NamedKnowledgeBase]:
        return list_named_bases(self._build_caller(step), namespaces)

    def _write_pages(
        self, step: Step, pages: Sequence[Mapping[str, Json]], mode: str
    ) -> Sequence[PageWriteResult]:
        return write_pages(self._build_caller(step), scope=step.scope, pages=pages, mode=mode)

    def _maintain_wiki(
        self, step: Step, action: WikiAction, arguments: Mapping[str, Json]
    ) -> WikiResult:
        caller = self._build_caller(step)
        return maintain_wiki(caller, scope=step.scope, action=action, arguments=arguments)

    def _build_caller(self, step: Step) -> MemoryCaller:
        """Return the run's caller with the step's origin and group. The namespaces that it may access stay the same."""
        origin = step.origin
        return replace(
            self.caller,
            origin=CallOrigin(origin.run_id, origin.node_id, origin.idempotency_key),
            identity=replace_group(self.caller.identity, step.group_id),
        )


def _is_away(error: BaseException) -> bool:
    return is_outage(error) or isinstance(error, ProviderAway)
