"""The port through which the nodes of a workflow call memory; it is the only asynchronous part of memory.

Its methods match a protocol of the engine, which this package must not import. Subclasses work synchronously.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from memory.core.provider import utc_now
from memory.core.records import Json, MemoryEntry, MemoryQuery
from memory.core.scopes import Scope, check_target
from memory.logic.conversations.conversation_requests import (
    ConversationRequest,
    ConversationResult,
    parse_request,
)
from memory.logic.judgement.judge import Decide, Judge, Proposal, Turn, judge_turn
from memory.logic.judgement.operations import (
    LearnedChange,
    LearnRequest,
    Operation,
    parse_operation,
)
from memory.logic.judgement.questions.question_recall import recall_for_question
from memory.logic.judgement.window import (
    EarlierTurn,
    FactState,
    TurnFact,
    list_facts,
    reread_turns,
)
from memory.logic.judgement.wording.reading import PrecedingTurn, parse_turns
from memory.logic.knowledge_port import KnowledgePort
from memory.logic.profile import Profile
from memory.logic.steps import Step, StepOrigin, StoreRequest


T = TypeVar("T")


class EnginePort(KnowledgePort):
    """The base class of ports; it implements ``workflows.engine.memory_ports.FullMemoryPort``.

    ``redact`` removes from stored values the content that must not outlive the run.
    """

    async def recall(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        key: str | None = None,
        query_text: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 - the interface's name
        top_k: int | None = None,
        injected: bool = False,
        group_id: str | None = None,
        recency_days: float | None = None,
        min_score: float | None = None,
        valid_at: datetime | None = None,
        include_former: bool | None = None,
        without_lessons: bool = False,
    ) -> list[MemoryEntry]:
        step = Step(scope, identity, origin, group_id)
        query = MemoryQuery(
            "", key, query_text, filter, top_k, recency_days=recency_days, min_score=min_score,
            valid_at=valid_at, include_former=include_former or False, for_prompt=True, without_lessons=without_lessons,
        )  # fmt: skip

        def recall() -> list[MemoryEntry]:
            judge = self._find_judge() if query.is_search else None
            answer = partial(self._select(step)._recall, step, injected=injected)
            return recall_for_question(
                judge, query, scope, answer, utc_now, finds_former=include_former is None
            )

        return await self.run(recall)

    async def recall_profile(
        self, *, identity: Mapping[str, Json], origin: StepOrigin, injected: bool = False
    ) -> Profile:
        """Recall what every prompt gets about the person of the run."""
        step = Step(Scope.USER.value, identity, origin)
        return await self.run(lambda: self._select(step)._recall_profile(step, injected))

    async def reread_turns(
        self,
        *,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        turns: Sequence[EarlierTurn],
    ) -> list[tuple[str, str]]:
        """Return the messages of earlier turns without what was forgotten since, and with the end of what ended."""
        step = Step(Scope.USER.value, identity, origin)
        facts = list_facts(turns)
        if not facts:
            return [(turn.query, turn.answer) for turn in turns]
        states = await self.run(lambda: self._load_states(step, facts))
        return reread_turns(turns, states, utc_now())

    def _find_judge(self) -> Judge | None:
        """Return the judge of messages and questions, if there is one."""
        return None

    def _select(self, step: Step) -> "EnginePort":
        """Return the port that serves the step: this one, unless a subclass divides the scopes among several."""
        return self

    async def store(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        key: str,
        value: Json,
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> MemoryEntry:
        step = Step(scope, identity, origin)
        key, value, metadata = map(self._redact, (key, value, metadata or {}))
        request = StoreRequest(key, value, metadata, tier, ttl_seconds)
        return await self.run(lambda: self._select(step)._store(step, request))

    async def propose_facts(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        message: str,
        turns: Sequence[Mapping[str, Json]] = (),
    ) -> Proposal:
        """Propose, without a model, what a message does to memory, with the known facts that it may speak of."""
        step = Step(scope, identity, origin)
        text, preceding_turns = self._read_turn(message, turns)
        return await self.run(
            lambda: self._select(step)._propose(
                step, judge_turn(self._find_judge(), text, preceding_turns)
            )
        )

    async def learn(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        operations: Sequence[Mapping[str, Json]],
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> list[LearnedChange]:
        """Perform the operations of a turn, all or none. A repeated step changes nothing a second time."""
        step = Step(scope, identity, origin)
        read_operations = self._read_operations(operations)
        request = LearnRequest(read_operations, self._redact(metadata or {}), tier, ttl_seconds)
        return await self.run(lambda: self._select(step)._learn(step, request))

    async def learn_message(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        message: str,
        decide: Callable[[Proposal], Sequence[Mapping[str, Json]]],
        turns: Sequence[Mapping[str, Json]] = (),
        metadata: Mapping[str, Json] | None = None,
        tier: str = "long_term",
        ttl_seconds: float | None = None,
    ) -> tuple[Proposal, list[LearnedChange]]:
        """Propose what a message does to memory, and perform the operations that ``decide`` makes of it, as ``learn`` does."""
        step = Step(scope, identity, origin)
        text, preceding_turns = self._read_turn(message, turns)
        request = LearnRequest((), self._redact(metadata or {}), tier, ttl_seconds)

        def learn() -> tuple[Proposal, list[LearnedChange]]:
            turn = judge_turn(self._find_judge(), text, preceding_turns)
            return self._select(step)._learn_turn(
                step, turn, request, lambda each: self._read_operations(decide(each))
            )

        return await self.run(learn)

    def _read_turn(
        self, message: str, turns: Sequence[Mapping[str, Json]]
    ) -> tuple[str, tuple[PrecedingTurn, ...]]:
        """Return the message and the turns before it, without secrets."""
        return str(self._redact(message)), parse_turns([self._redact({**each}) for each in turns])

    def _read_operations(self, operations: Sequence[Mapping[str, Json]]) -> tuple[Operation, ...]:
        return tuple(parse_operation(self._redact({**each})) for each in operations)

    async def delete(
        self,
        *,
        scope: str,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        key: str | None = None,
        filter: Mapping[str, Json] | None = None,  # noqa: A002 - the interface's name
    ) -> int:
        check_target(key, filter)
        step = Step(scope, identity, origin)
        return await self.run(lambda: self._select(step)._delete(step, key, filter))

    async def converse(
        self,
        *,
        identity: Mapping[str, Json],
        origin: StepOrigin,
        action: str,
        messages: Sequence[Json] = (),
        rules: Mapping[str, Json] | None = None,
    ) -> ConversationResult:
        step = Step(Scope.CONVERSATION.value, identity, origin)
        messages, rules = self._redact(messages), self._redact(rules or {})
        request = parse_request(action, messages, rules, step=origin.idempotency_key)
        return await self.run(lambda: self._select(step)._converse(step, request))

    @abstractmethod
    def _recall(self, step: Step, query: MemoryQuery, injected: bool) -> list[MemoryEntry]:
        """Recall in the step's namespace, which the query does not name yet."""

    @abstractmethod
    def _recall_profile(self, step: Step, injected: bool) -> Profile: ...

    @abstractmethod
    def _load_states(self, step: Step, facts: Sequence[TurnFact]) -> Mapping[str, FactState]:
        """Return by id what the entries of these facts say now that aren't forgotten."""

    @abstractmethod
    def _store(self, step: Step, request: StoreRequest) -> MemoryEntry: ...

    @abstractmethod
    def _propose(self, step: Step, turn: Turn) -> Proposal: ...

    @abstractmethod
    def _learn(self, step: Step, request: LearnRequest) -> list[LearnedChange]: ...

    def _learn_turn(
        self, step: Step, turn: Turn, request: LearnRequest, decide: Decide
    ) -> tuple[Proposal, list[LearnedChange]]:
        """Perform what is decided of the proposal. Known facts are only read if the turn may change one of them."""
        proposal = self._propose(step, turn) if turn.may_concern_known else turn.propose()
        return proposal, self._learn(step, replace(request, operations=decide(proposal)))

    @abstractmethod
    def _delete(self, step: Step, key: str | None, filter_: Mapping[str, Json] | None) -> int: ...

    @abstractmethod
    def _converse(self, step: Step, request: ConversationRequest) -> ConversationResult: ...
