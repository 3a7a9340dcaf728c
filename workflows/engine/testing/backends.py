"""Backends that must give equal results: they run workflows in this process, or in a worker with the database.

The conformance suite, the tables of ``tests/spec`` and ``run_workflow`` use this interface alone.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from workflows.engine.files.ports import DocumentPort, FilePort
from workflows.engine.kinds import Kinds
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
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.runtime.step_records import StepKey, StepRecord
from workflows.engine.runtime.waits import Answer


# Answers the form of a node.
Answerer = Callable[[str, Mapping[str, Json]], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Request:
    """A run to perform. ``checked`` states that the inputs were already checked against the start form.

    Without ``answer`` the run ends paused where it waits for a person. Delays are waited for.
    """

    document: Document
    inputs: Mapping[str, Json] = field(default_factory=dict)
    system: Mapping[str, Json] = field(default_factory=dict)
    conversation: Mapping[str, Json] = field(default_factory=dict)
    mocks: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    env: Mapping[str, Json] = field(default_factory=dict)
    checked: bool = False
    offline: bool = False
    answer: Answerer | None = None


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
        files: FilePort | None = None,
        documents: DocumentPort | None = None,
        kinds: Kinds | None = None,
    ) -> None:
        self._build_runner = partial(
            WorkflowRunner,
            memory=memory,
            models=models,
            templates=templates,
            code=code,
            http=http,
            files=files,
            documents=documents,
            kinds=kinds,
        )

    async def run(self, request: Request, watch: Watcher | None = None) -> Outcome:
        runner = self._build_runner(
            request.document, mocks=request.mocks, environment=request.env, checked=request.checked
        )
        handle = runner.start(
            inputs=request.inputs, system=request.system, conversation=request.conversation
        )
        chunks: list[str] = []
        while True:
            async for event in handle.events():
                if isinstance(event, TextChunk):
                    chunks.append(event.text)
                if watch is not None:
                    watch(event)
            result = await handle.result()
            answers = await _collect_answers(request, result)
            if not answers:
                break
            chunks = []  # a resumed run prints its text again from the beginning
            handle = runner.resume(handle, answers)
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


async def _collect_answers(request: Request, result: RunResult) -> dict[StepKey, Answer]:
    """Return the answers to all forms; if there is none to answer, wait for the end of the next delay."""
    answers: dict[StepKey, Answer] = {}
    ends: list[tuple[float, StepKey]] = []
    for open_wait in result.open_waits:
        key, wait = open_wait.key, open_wait.wait
        if wait.form is None:
            ends.append((wait.due_at or 0.0, key))
        elif request.answer is not None:
            answers[key] = await request.answer(key.node_id, wait.form)
    if not answers and ends and len(ends) == len(result.open_waits):
        due_at, key = min(ends, key=lambda end: end[0])
        await asyncio.sleep(max(due_at - time.time(), 0))
        answers[key] = Answer(is_timed_out=True)
    return answers
