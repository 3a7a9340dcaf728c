"""The engine's ports made real for one run: memory within its reach, the team's models, templates.

Each is made when the run first asks for it: a run without memory nodes costs no memory.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import DatabaseError

from accounts.access import run_principal
from accounts.tenancy import tenant
from config.ids import uuid7
from workflows import memory_app
from workflows.engine.document import Document, Json
from workflows.engine.local import SystemClock
from workflows.engine.memory_ports import FoundPage, KeptPage, Talk, WholeMemory
from workflows.engine.ports import (
    CodePort,
    HttpPort,
    MemoryHit,
    ModelChunk,
    ModelPort,
    ModelRequest,
    Ports,
    TemplatePort,
)
from workflows.engine.remembering import scopes_of
from workflows.execution.claims import Claim
from workflows.execution.debugging import SANDBOX, Debug
from workflows.execution.http import GuardedHttp
from workflows.execution.ledger import Ledger
from workflows.execution.setup import Setup
from workflows.execution.threads import in_thread
from workflows.models import Message
from workflows.sandbox.codes import CodePool
from workflows.sandbox.templates import TemplatePool


log = logging.getLogger(__name__)


class NewIds:
    """Implements ``engine.ports.IdPort``."""

    def new(self) -> str:
        return str(uuid7())


@dataclass
class Services:
    """What the runs of a worker share; processes and connections behind it are started when needed."""

    models: "Callable[[UUID, bool], ModelPort]"
    templates: TemplatePort = field(default_factory=TemplatePool)
    code: CodePort = field(default_factory=CodePool)
    http: HttpPort = field(default_factory=GuardedHttp)
    clock: SystemClock = field(default_factory=SystemClock)
    ids: NewIds = field(default_factory=NewIds)

    def close(self) -> None:
        for pool in (self.templates, self.code):
            close = getattr(pool, "close", None)
            if close is not None:
                close()


def ports_for(claim: Claim, setup: Setup, services: Services) -> Ports:
    return Ports(
        clock=services.clock,
        ids=services.ids,
        model=services.models(claim.team_id, bool(claim.row["offline"])),
        memory=LateMemory(claim) if memory_app.is_on() else None,
        templates=services.templates,
        code=services.code,
        http=services.http,
        history=history_of(claim),
    )


class LateMemory:
    """Implements ``engine.memory_ports.WholeMemory``: finds out who the run acts for when it first remembers."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._port: WholeMemory | None = None
        self._lock = asyncio.Lock()

    async def recall(self, **asked: Any) -> Sequence[MemoryHit]:
        return await (await self._ready()).recall(**asked)

    async def store(self, **given: Any) -> MemoryHit:
        return await (await self._ready()).store(**given)

    async def delete(self, **asked: Any) -> int:
        return await (await self._ready()).delete(**asked)

    async def converse(self, **asked: Any) -> Talk:
        return await (await self._ready()).converse(**asked)

    async def find_pages(self, **asked: Any) -> Sequence[FoundPage]:
        return await (await self._ready()).find_pages(**asked)

    async def write_pages(self, **given: Any) -> Sequence[KeptPage]:
        return await (await self._ready()).write_pages(**given)

    async def begin(self, document: Document) -> None:
        """What the run is about, for three days. A run that remembers nothing leaves none of it, nor
        one that only tries memory out."""
        tries = Debug.of(self._claim.row).memory == SANDBOX
        if self._claim.attempt > 1 or tries or not scopes_of(document):
            return
        system = self._claim.row["system"]
        try:
            await memory_app.write_run_down(
                self._claim.team_id,
                self._claim.run_id,
                goal=str(system.get("query") or document.name),
                stream=memory_app.stream_of(
                    system.get("workflow_names") or [system["workflow_id"]]
                ),
            )
        except (DatabaseError, memory_app.MemoryFault) as away:
            log.warning("run_not_noted", extra={"run": str(self._claim.run_id), "why": str(away)})

    async def end(self) -> None:
        """The run has ended, and its notes with it; what this misses, memory's upkeep finds."""
        if self._port is None and self._claim.attempt == 1:
            return  # it never remembered anything
        try:
            await in_thread(memory_app.clear_run_notes, self._claim.team_id, self._claim.run_id)
        except DatabaseError as away:
            log.warning("notes_left", extra={"run": str(self._claim.run_id), "why": str(away)})

    async def _ready(self) -> WholeMemory:
        async with self._lock:
            if self._port is None:
                self._port = await in_thread(memory_of, self._claim)
            return self._port


async def run_began(ports: Ports, document: Document) -> None:
    """Before the first step: what the run is about is written down where its steps may look."""
    if isinstance(ports.memory, LateMemory):
        await ports.memory.begin(document)


async def run_ended(ports: Ports) -> None:
    """For when the end of a run is written: what is of use to no other goes."""
    if isinstance(ports.memory, LateMemory):
        await ports.memory.end()


def memory_of(claim: Claim) -> WholeMemory:
    caller = memory_caller(claim.run_id, claim.team_id, claim.row)
    if Debug.of(claim.row).memory != SANDBOX:
        return memory_app.RunMemory(caller)
    return memory_app.SandboxMemory(caller, Ledger(claim.team_id, claim.run_id))


def memory_caller(
    run_id: UUID, team_id: UUID, row: Mapping[str, Json]
) -> "memory_app.MemoryCaller":
    """Who a run is to memory, and how far it reaches; ``row`` is the run's."""
    identity = identity_of(run_id, row)
    subject_user = _id(row, "subject_user_id")
    principal = run_principal(
        run_id=run_id,
        team_id=team_id,
        user_id=_id(row, "started_by_id"),
        key_id=_id(row, "api_key_id"),
    )
    return memory_app.MemoryCaller(
        principal,
        team_id,
        identity=identity,
        reach=memory_app.reach_of(identity),
        participants=frozenset({subject_user} if subject_user else ()),
        outside_subject=subject_user is None,
    )


def identity_of(run_id: UUID, row: Mapping[str, Json]) -> Mapping[str, Json]:
    """The run's system variables as the server knows them, which the row is the only source of."""
    names = (
        *("conversation_id", "user_id", "app_id", "workflow_id"),
        *("workflow_names", "group_id"),  # of a workflow's own memory; see services.streams
    )
    system = row["system"]
    known = {name: system[name] for name in names if system.get(name)}
    return {**known, "run_id": str(run_id)}


def history_of(claim: Claim) -> "ConversationHistory | None":
    """A turn that is tried once more sees what the first one saw, and is no turn itself."""
    turn = Debug.of(claim.row).turn
    if turn is not None:
        return ConversationHistory(claim, UUID(turn["conversation"]), before=turn["before"])
    talk = _id(claim.row, "conversation_id")
    return ConversationHistory(claim, talk) if talk else None


class ConversationHistory:
    """Implements ``engine.ports.HistoryPort``: the turns before this run's own."""

    def __init__(self, claim: Claim, conversation: UUID, *, before: int | None = None) -> None:
        self._claim, self._conversation, self._before = claim, conversation, before

    async def turns(self, *, limit: int | None) -> Sequence[tuple[str, str]]:
        return await in_thread(self._read, limit)

    def _read(self, limit: int | None) -> list[tuple[str, str]]:
        with tenant([self._claim.team_id]):
            rows = (
                Message.objects.unscoped()
                .filter(conversation_id=self._conversation)
                .exclude(run_id=self._claim.run_id)
                .exclude(answer="")
                .order_by("-number")
                .values_list("query", "answer")
            )
            if self._before is not None:
                rows = rows.filter(number__lt=self._before)
            newest = list(rows if limit is None else rows[:limit])
        return newest[::-1]


class LateModels:
    """Implements ``engine.ports.ModelPort``: resolves the team's providers on the first request."""

    def __init__(self, resolve: Callable[[], ModelPort]) -> None:
        self._resolve = resolve
        self._port: ModelPort | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        if self._port is None:
            self._port = await in_thread(self._resolve)
        async for chunk in self._port.stream(request):
            yield chunk


def _id(row: Mapping[str, Json], column: str) -> UUID | None:
    value = row[column]
    return UUID(str(value)) if value else None
