"""Backends that must give equal results: they run workflows in this process, or in a worker with the database.

The conformance suite, the tables of ``tests/spec`` and ``run_workflow`` use this interface alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from workflows.engine.language.document import Document, Json
from workflows.engine.ports import (
    CodePort,
    HttpPort,
    MemoryPort,
    MemorySource,
    ModelPort,
    TemplatePort,
)
from workflows.engine.runtime.events import Event, TextChunk
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import StepRecord


@dataclass(frozen=True, slots=True)
class Request:
    """A run to perform. ``checked`` states that the inputs were already checked against the start form."""

    document: Document
    inputs: Mapping[str, Json] = field(default_factory=dict)
    system: Mapping[str, Json] = field(default_factory=dict)
    conversation: Mapping[str, Json] = field(default_factory=dict)
    mocks: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    env: Mapping[str, Json] = field(default_factory=dict)
    checked: bool = False
    offline: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    status: str
    outputs: Mapping[str, Json] = field(default_factory=dict)
    error: str | None = None
    error_node: str | None = None
    stream: str = ""
    chunks: Sequence[str] = ()
    steps: Sequence[StepRecord] = ()
    conversation: Mapping[str, Json] = field(default_factory=dict)
    exceptions_count: int = 0
    elapsed: float = 0.0


Watcher = Callable[[Event], None]


class Backend(Protocol):
    """Runs requests. Raises InputRejected or DocumentInvalid before anything runs."""

    async def run(self, request: Request, watch: Watcher | None = None) -> Outcome: ...

    async def close(self) -> None: ...


class InProcessBackend:
    """Runs workflows in this process, with the given services."""

    def __init__(
        self,
        *,
        memory: MemoryPort | MemorySource | None = None,
        models: ModelPort | None = None,
        templates: TemplatePort | None = None,
        code: CodePort | None = None,
        http: HttpPort | None = None,
    ) -> None:
        self._build_runner = partial(
            WorkflowRunner, memory=memory, models=models, templates=templates, code=code, http=http
        )

    async def run(self, request: Request, watch: Watcher | None = None) -> Outcome:
        runner = self._build_runner(
            request.document, mocks=request.mocks, environment=request.env, checked=request.checked
        )
        handle = runner.start(
            inputs=request.inputs, system=request.system, conversation=request.conversation
        )
        chunks: list[str] = []
        async for event in handle.events():
            if isinstance(event, TextChunk):
                chunks.append(event.text)
            if watch is not None:
                watch(event)
        result = await handle.result()
        return Outcome(
            status=result.status,
            outputs=result.outputs,
            error=result.error,
            error_node=result.error_node,
            stream=result.stream,
            chunks=chunks,
            steps=result.steps,
            conversation=result.conversation,
            exceptions_count=result.exceptions_count,
            elapsed=result.elapsed,
        )

    async def close(self) -> None:
        """Do nothing, because it has no resources."""
