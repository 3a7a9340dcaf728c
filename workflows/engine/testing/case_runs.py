"""Runs test cases: every turn is a run with the case's separate memory and conversations."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from workflows.engine.errors import EngineFault
from workflows.engine.language.document import Document, Json
from workflows.engine.language.start_form import check_start
from workflows.engine.memory_ports import KnowledgePort
from workflows.engine.ports import MemoryPort, Origin
from workflows.engine.runtime.events import Event, MemoryRecalled, MemoryWritten, TextChunk
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.testing.cases import Case, CaseResult, Facts, Turn, TurnResult, evaluate_turn
from workflows.engine.testing.mocks import Mocks


class RunnerMaker(Protocol):
    """Builds the runner of a case. The caller provides its ports, the case its memory and history."""

    def __call__(
        self, document: Document, *, history: "CaseHistory", mocks: Mocks | None
    ) -> WorkflowRunner: ...


@dataclass
class CaseHistory:
    """Implements ``engine.ports.HistoryPort`` for one conversation at a time."""

    exchanges: list[tuple[str, str]] = field(default_factory=list)

    async def list_turns(self, *, limit: int | None) -> Sequence[tuple[str, str]]:
        start = 0 if limit is None else max(0, len(self.exchanges) - limit)
        return self.exchanges[start:]


@dataclass
class _Conversation:
    variables: Mapping[str, Json]
    untrusted: tuple[str, ...] = ()
    history: CaseHistory = field(default_factory=CaseHistory)


async def run_case(
    document: Document,
    case: Case,
    make_runner: RunnerMaker,
    memory: MemoryPort | None,
    *,
    app_id: str = "test",
) -> CaseResult:
    """Run a case. Failures of the workflow are results, not exceptions."""
    started_at = time.monotonic()
    turns: list[TurnResult] = []
    problem = ""
    try:
        if memory is not None:
            await _store_seeds(case, memory, app_id)
        conversations: dict[tuple[str, str], _Conversation] = {}
        for turn in case.turns:
            conversation = conversations.setdefault(
                (turn.person, turn.conversation), _Conversation(dict(case.variables))
            )
            facts = await _run_turn(document, case, turn, conversation, make_runner, app_id)
            turns.append(evaluate_turn(turn, facts))
    except EngineFault as fault:
        problem = fault.message
    return CaseResult(case.name, tuple(turns), problem, time.monotonic() - started_at)


async def _store_seeds(case: Case, memory: MemoryPort, app_id: str) -> None:
    for seed in case.memories:
        identity = _build_identity(app_id, seed.person, seed.conversation)
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


async def _run_turn(
    document: Document,
    case: Case,
    turn: Turn,
    conversation: _Conversation,
    make_runner: RunnerMaker,
    app_id: str,
) -> Facts:
    system = dict(_build_identity(app_id, turn.person, turn.conversation))
    if turn.say is not None:
        system["query"] = turn.say
        system["dialogue_count"] = len(conversation.history.exchanges) + 1
    runner = make_runner(
        document, history=conversation.history, mocks=Mocks(case.pins) if case.pins else None
    )
    started_at = time.monotonic()
    handle = runner.start(
        inputs=check_start(document, turn.inputs),
        system=system,
        conversation=conversation.variables,
        untrusted=conversation.untrusted,
    )
    collector = _EventCollector()
    async for event in handle.events():
        collector.add(event)
    result = await handle.result()
    conversation.variables, conversation.untrusted = result.conversation, result.untrusted
    answer = result.outputs.get("answer")
    if turn.say is not None and isinstance(answer, str):
        conversation.history.exchanges.append((turn.say, answer))
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


@dataclass
class _EventCollector:
    recalled: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    stream: list[str] = field(default_factory=list)

    def add(self, event: Event) -> None:
        match event:
            case MemoryRecalled(entries=entries):
                self.recalled += [_format_entry(entry) for entry in entries]
            case MemoryWritten(entry=entry):
                self.written.append(_format_entry(entry))
            case TextChunk(text=text):
                self.stream.append(text)


def _build_identity(app_id: str, person: str, conversation: str) -> dict[str, Json]:
    return {
        "user_id": person,
        "app_id": app_id,
        "workflow_id": app_id,
        "conversation_id": f"{person}-{conversation}",
    }


def _format_entry(entry: Mapping[str, Json]) -> str:
    value = entry.get("value")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"{entry.get('key')}: {text}"
