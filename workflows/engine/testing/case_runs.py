"""Runs test cases: every turn is a run with the case's separate memory and conversations."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from workflows.engine.earlier_turns import EarlierTurn, list_facts
from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Document, Json
from workflows.engine.language.start_form import check_start_inputs
from workflows.engine.memory_ports import KnowledgePort
from workflows.engine.ports import MemoryPort, Origin
from workflows.engine.runtime.events import Event, MemoryRecalled, MemoryWritten, TextChunk
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import StepKey
from workflows.engine.runtime.waits import Answer, check_answer
from workflows.engine.testing.cases import (
    Case,
    CaseResult,
    Facts,
    FormAnswer,
    Turn,
    TurnResult,
    evaluate_turn,
)
from workflows.engine.testing.mocks import Mocks


class RunnerFactory(Protocol):
    """Builds the runner of a turn, with the ports of the caller and the history and mocks of the case."""

    def __call__(
        self, document: Document, *, history: "CaseHistory", mocks: Mocks | None
    ) -> WorkflowRunner: ...


@dataclass
class CaseHistory:
    """Implements ``engine.ports.HistoryPort`` for one conversation at a time."""

    exchanges: list[EarlierTurn] = field(default_factory=list)

    async def list_turns(self, *, limit: int | None) -> Sequence[EarlierTurn]:
        start = 0 if limit is None else max(0, len(self.exchanges) - limit)
        return self.exchanges[start:]


@dataclass
class _Conversation:
    variables: Mapping[str, Json]
    untrusted: tuple[str, ...] = ()
    shown_memories: tuple[str, ...] = ()
    history: CaseHistory = field(default_factory=CaseHistory)


async def run_case(
    document: Document,
    case: Case,
    build_runner: RunnerFactory,
    memory: MemoryPort | None,
    *,
    app_id: str = "test",
) -> CaseResult:
    """Run the turns of a case. A failure of the workflow is part of the result and raises nothing."""
    started_at = time.monotonic()
    run = _CaseRun(document, case, build_runner, app_id)
    turns: list[TurnResult] = []
    problem = ""
    try:
        if memory is not None:
            await run.store_seeds(memory)
        for turn in case.turns:
            facts = await run.run_turn(turn)
            turns.append(evaluate_turn(turn, facts))
    except EngineFault as fault:
        problem = fault.message
    return CaseResult(case.name, tuple(turns), problem, time.monotonic() - started_at)


@dataclass
class _CaseRun:
    """The state of a case while its turns run: the conversations by person and name."""

    document: Document
    case: Case
    build_runner: RunnerFactory
    app_id: str
    conversations: dict[tuple[str, str], _Conversation] = field(default_factory=dict)

    async def store_seeds(self, memory: MemoryPort) -> None:
        for seed in self.case.memories:
            identity = self._build_identity(seed.person, seed.conversation)
            origin = Origin("seed", "seed", f"seed:{seed.scope}:{seed.person}:{seed.key}")
            if seed.is_page and isinstance(memory, KnowledgePort):
                await memory.write_pages(
                    scope=seed.scope, identity=identity, origin=origin, pages=[seed.value]
                )
                continue
            await memory.store(
                scope=seed.scope,
                identity=identity,
                origin=origin,
                key=seed.key,
                value=seed.value,
                metadata=seed.metadata,
            )

    async def run_turn(self, turn: Turn) -> Facts:
        conversation = self.conversations.setdefault(
            (turn.person, turn.conversation), _Conversation(dict(self.case.variables))
        )
        exchanges = conversation.history.exchanges
        system = self._build_identity(turn.person, turn.conversation)
        if turn.group:
            system["group_id"] = turn.group
        if turn.say is not None:
            system |= {"query": turn.say, "dialogue_count": len(exchanges)}
        mocks = Mocks(self.case.pins) if self.case.pins else None
        runner = self.build_runner(self.document, history=conversation.history, mocks=mocks)
        started_at = time.monotonic()
        handle = runner.start(
            inputs=check_start_inputs(self.document, turn.inputs),
            system=system,
            conversation=conversation.variables,
            untrusted=conversation.untrusted,
            shown_memories=conversation.shown_memories,
        )
        collector = _EventCollector()
        remaining = list(turn.answers)
        while True:
            async for event in handle.events():
                collector.add(event)
            result = await handle.result()
            answers = _take_answers(result, remaining)
            if not answers:
                break
            collector.stream = []  # a resumed run prints its text again from the beginning
            handle = runner.resume(handle, answers)
        conversation.variables, conversation.untrusted = result.conversation, result.untrusted
        conversation.shown_memories = result.shown_memories
        answer = result.outputs.get("answer")
        if turn.say is not None and isinstance(answer, str):
            exchanges.append(
                EarlierTurn(
                    turn.say,
                    answer,
                    result.has_untrusted_outputs,
                    facts=list_facts(collector.memory),
                )
            )
        return Facts(
            status=result.status.value,
            outputs=result.outputs,
            error=result.error or "",
            steps=result.steps,
            recalled=collector.recalled,
            written=collector.written,
            stream="".join(collector.stream),
            seconds=time.monotonic() - started_at,
            tokens=result.usage.total_tokens,
        )

    def _build_identity(self, person: str, conversation: str) -> dict[str, Json]:
        return {
            "user_id": person,
            "app_id": self.app_id,
            "workflow_id": self.app_id,
            "conversation_id": f"{person}-{conversation}",
        }


def _take_answers(result: RunResult, remaining: list[FormAnswer]) -> dict[StepKey, Answer]:
    """Return the answers to the open forms, as long as there are any. Delays are over at once.

    Raises InputRejected for an answer that does not fit its form.
    """
    answers: dict[StepKey, Answer] = {}
    for open_wait in result.open_waits:
        form = open_wait.wait.form
        if form is None:
            answers[open_wait.key] = Answer(is_timed_out=True)
        elif remaining:
            answers[open_wait.key] = _build_answer(form, remaining.pop(0))
    return answers


def _build_answer(form: Mapping[str, Json], answer: FormAnswer) -> Answer:
    if answer.is_timed_out:
        return Answer(is_timed_out=True)
    values, action = check_answer(form, answer.values, answer.action)
    return Answer(values, action)


@dataclass
class _EventCollector:
    recalled: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    stream: list[str] = field(default_factory=list)
    memory: list[Mapping[str, Json]] = field(default_factory=list)  # data of events

    def add(self, event: Event) -> None:
        match event:
            case MemoryRecalled(scope=scope, entries=entries):
                self.memory.append({"scope": scope, "entries": entries})
                self.recalled += [_format_entry(entry) for entry in entries]
            case MemoryWritten(scope=scope, entry=entry):
                self.memory.append({"scope": scope, "entry": entry})
                self.written.append(_format_entry(entry))
            case TextChunk(text=text):
                self.stream.append(text)


def _format_entry(entry: Mapping[str, Json]) -> str:
    value = entry.get("value")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"{entry.get('key')}: {text}"
