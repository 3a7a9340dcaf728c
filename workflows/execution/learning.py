"""An application that learns from its runs: what they taught, in the prompts of the next similar one.

Its switch is ``auto_memory``. Before a model is asked, what memory holds on the run's task is put into
the prompt, unless the node recalls for itself. After the run has ended it is planned to be curated.
Neither ever fails a run or keeps it waiting: the end is written before anything is planned.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

from django.db import DatabaseError

from workflows import memory_app
from workflows.engine.document import Json
from workflows.engine.errors import WorkflowFault
from workflows.engine.ports import (
    MemoryHit,
    MemoryPort,
    Message,
    ModelChunk,
    ModelPort,
    ModelRequest,
    Ports,
)
from workflows.engine.prompting import MEMORY_HEADING
from workflows.engine.rendering import as_text
from workflows.execution.adapters import memory_caller
from workflows.execution.claims import Claim
from workflows.execution.debugging import Debug
from workflows.execution.threads import in_thread


log = logging.getLogger(__name__)

MOST_INJECTED = 5
LONGEST_QUESTION = 2_000  # characters; a task is asked for by its beginning


def with_learning(ports: Ports, claim: Claim) -> Ports:
    """The same world, whose model is told what earlier runs of the application taught."""
    if ports.memory is None or ports.model is None:
        return ports
    return replace(ports, model=RemindedModels(ports.model, ports.memory, claim))


async def plan_curation(ports: Ports, claim: Claim) -> None:
    """For when the end of a run is written. Runs that try something out teach nothing."""
    if ports.memory is None or Debug.of(claim.row).was_asked_for or claim.row["mocks"]:
        return
    try:
        await in_thread(_plan, claim)
    except (DatabaseError, memory_app.MemoryFault) as away:
        log.warning("curation_not_planned", extra={"run": str(claim.run_id), "why": str(away)})


class RemindedModels:
    """Implements ``engine.ports.ModelPort`` over another."""

    def __init__(self, models: ModelPort, memory: MemoryPort, claim: Claim) -> None:
        self._models, self._memory, self._claim = models, memory, claim
        self._learning: memory_app.Learning | None = None
        self._lock = asyncio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reminded = await self._reminded(request)
        async for chunk in self._models.stream(reminded):
            yield chunk

    async def _reminded(self, request: ModelRequest) -> ModelRequest:
        if request.memories or request.mode != "chat":
            return request
        try:
            learning = await self._rule()
            if not learning.auto_memory:
                return request
            hits = await self._memory.recall(
                scope=learning.scope,
                identity={},
                origin=request.origin,
                query_text=question_of(self._claim.row, request.messages),
                top_k=MOST_INJECTED,
                injected=True,
            )
        except (DatabaseError, WorkflowFault, memory_app.MemoryFault) as away:
            log.warning("not_reminded", extra={"run": str(self._claim.run_id), "why": str(away)})
            return request
        return with_memories(request, tuple(hits)) if hits else request

    async def _rule(self) -> "memory_app.Learning":
        async with self._lock:
            if self._learning is None:
                app = str(self._claim.row["workflow_id"])
                self._learning = await in_thread(memory_app.learning_of, self._claim.team_id, app)
            return self._learning


def with_memories(request: ModelRequest, hits: tuple[MemoryHit, ...]) -> ModelRequest:
    """As ``enhanced_memory`` puts them: one message behind those of the system."""
    lines = [f"- {hit.key}: {as_text(hit.value)}" for hit in hits]
    injected = Message("system", "\n".join([MEMORY_HEADING, *lines]))
    at = 0
    while at < len(request.messages) and request.messages[at].role == "system":
        at += 1
    messages = (*request.messages[:at], injected, *request.messages[at:])
    return replace(request, messages=messages, memories=hits)


def question_of(row: Mapping[str, Json], messages: tuple[Message, ...] = ()) -> str:
    """What a run is about: what was said, else what was given, else what the model is asked."""
    texts = [str(row["system"].get("query") or "")]
    texts += [one for one in row["inputs"].values() if isinstance(one, str)]
    asked = "\n".join(text for text in texts if text.strip())
    if not asked:
        asked = next((one.text for one in reversed(messages) if one.role == "user"), "")
    return asked[:LONGEST_QUESTION]


def _plan(claim: Claim) -> None:
    caller = memory_caller(claim.run_id, claim.team_id, claim.row)
    app = str(claim.row["workflow_id"])
    memory_app.plan_curation(caller, run_id=str(claim.run_id), app_id=app)
