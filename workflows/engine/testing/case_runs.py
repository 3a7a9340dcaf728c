"""Runs test cases through a backend: every turn a run, memory and conversations of the case's own."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from workflows.engine.errors import WorkflowFault
from workflows.engine.language.document import Document, Json
from workflows.engine.language.start_form import check_start
from workflows.engine.memory_ports import KnowledgePort
from workflows.engine.ports import MemoryPort, Origin
from workflows.engine.runtime.events import Event, MemoryRecalled, MemoryWritten, TextChunk
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.testing.cases import Case, CaseResult, Facts, Turn, TurnResult, judge
from workflows.engine.testing.mocks import Mocks


class RunnerMaker(Protocol):
    """Builds the runner of a case: its ports are the caller's business, memory and history are ours."""

    def __call__(
        self, document: Document, *, history: "CaseHistory", mocks: Mocks | None
    ) -> WorkflowRunner: ...


@dataclass
class CaseHistory:
    """Implements ``engine.ports.HistoryPort`` for one conversation at a time."""

    said: list[tuple[str, str]] = field(default_factory=list)

    async def list_turns(self, *, limit: int | None) -> Sequence[tuple[str, str]]:
        return self.said if limit is None else self.said[max(0, len(self.said) - limit) :]


@dataclass
class _Talk:
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
    """Never raises for what the workflow does: that is what the case is about."""
    begun = time.monotonic()
    turns: list[TurnResult] = []
    problem = ""
    try:
        if memory is not None:
            await _remember(case, memory, app_id)
        talks: dict[tuple[str, str], _Talk] = {}
        for turn in case.turns:
            talk = talks.setdefault((turn.person, turn.conversation), _Talk(dict(case.variables)))
            facts = await _one_turn(document, case, turn, talk, make_runner, app_id)
            turns.append(judge(turn, facts))
    except WorkflowFault as fault:
        problem = fault.message
    return CaseResult(case.name, tuple(turns), problem, time.monotonic() - begun)


async def _remember(case: Case, memory: MemoryPort, app_id: str) -> None:
    for seed in case.memories:
        identity = _identity(app_id, seed.person, seed.conversation)
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


async def _one_turn(
    document: Document, case: Case, turn: Turn, talk: _Talk, make_runner: RunnerMaker, app_id: str
) -> Facts:
    system = dict(_identity(app_id, turn.person, turn.conversation))
    if turn.say is not None:
        system["query"] = turn.say
        system["dialogue_count"] = len(talk.history.said) + 1
    runner = make_runner(
        document, history=talk.history, mocks=Mocks(case.pins) if case.pins else None
    )
    begun = time.monotonic()
    handle = runner.start(
        inputs=check_start(document, turn.inputs),
        system=system,
        conversation=talk.variables,
        untrusted=talk.untrusted,
    )
    seen = _Seen()
    async for event in handle.events():
        seen.take(event)
    result = await handle.result()
    talk.variables, talk.untrusted = result.conversation, result.untrusted
    answer = result.outputs.get("answer")
    if turn.say is not None and isinstance(answer, str):
        talk.history.said.append((turn.say, answer))
    return Facts(
        status=result.status.value,
        outputs=result.outputs,
        error=result.error or "",
        steps=result.steps,
        recalled=seen.recalled,
        written=seen.written,
        stream="".join(seen.stream),
        seconds=time.monotonic() - begun,
        tokens=result.usage.total_tokens,
    )


@dataclass
class _Seen:
    recalled: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    stream: list[str] = field(default_factory=list)

    def take(self, event: Event) -> None:
        match event:
            case MemoryRecalled(entries=entries):
                self.recalled += [_text(entry) for entry in entries]
            case MemoryWritten(entry=entry):
                self.written.append(_text(entry))
            case TextChunk(text=text):
                self.stream.append(text)


def _identity(app_id: str, person: str, conversation: str) -> dict[str, Json]:
    return {
        "user_id": person,
        "app_id": app_id,
        "workflow_id": app_id,
        "conversation_id": f"{person}-{conversation}",
    }


def _text(entry: Mapping[str, Json]) -> str:
    value = entry.get("value")
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return f"{entry.get('key')}: {shown}"
