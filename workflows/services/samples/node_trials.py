"""Every node kind that touches memory, one small workflow each, run here and now over a memory that is given.

For ``manage.py leakcheck``: what somebody's runs say is looked through for what is somebody else's.
"""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from asgiref.sync import async_to_sync

from accounts.principals import Principal
from workflows.engine.language.document import Json
from workflows.engine.language.dsl import load_document
from workflows.engine.ports import ModelChunk, ModelPort, ModelRequest
from workflows.engine.runtime.events import Event
from workflows.engine.testing.backends import InProcess, Request
from workflows.execution.kinds import load_kinds
from workflows.sandbox.templates import TemplatePool
from workflows.services.catalog.importing import import_document
from workflows.services.runs.runs import start_run


QUESTION: Final = ["start", "text"]
TEXT: Final = "What is the secret?"


class NodeTrials:
    """Implements ``memory.services.access.leak_checks.Trials``."""

    def prepare(
        self, principal: Principal, team_id: UUID, *, own: str, shared: str
    ) -> Mapping[str, str]:
        source = _document("memory-recall", {"scope": "conversation"})
        workflow = import_document(
            principal, team_id=team_id, source=source, name=f"Leak check {shared}"
        ).workflow
        run = start_run(principal, workflow=workflow, inputs={"text": own}, query=own)
        talk = run.conversation
        ids = {"workflow": str(workflow.pk), "run": str(run.pk)}
        return ids | ({"conversation": str(talk.pk), "conversation_key": talk.key} if talk else {})

    def answers(
        self, memory: Any, system: Mapping[str, Json], *, groups: Iterable[str]
    ) -> Iterator[tuple[str, str]]:
        templates = TemplatePool()
        try:
            backend = InProcess(memory=memory, models=_Echo(), templates=templates)
            for name, config in _trials():
                source = _document(name, config)
                yield f"node {name}", async_to_sync(_said)(backend, source, system, TEXT)
            for group in groups:
                config = {"topic_selector": QUESTION, "group_id_selector": ["start", "text"]}
                source = _document("memory-retrieval", config)
                yield (
                    "node memory-retrieval, another's group",
                    async_to_sync(_said)(backend, source, system, group),
                )
        finally:
            templates.close()


class _Echo(ModelPort):
    """Says what it was asked, so that what reached a prompt is seen."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        said = "\n".join(str(message) for message in request.messages)
        yield ModelChunk(text=said)


def _trials() -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield kinds and settings; a kind that needs memory and names none is tried with nothing set."""
    for name, kind in sorted(load_kinds().items()):
        for config in kind.leak_trials or ([{}] if kind.needs_memory else []):
            yield name, config


def _document(kind: str, config: Mapping[str, Json]) -> dict[str, Json]:
    """start → the node → end."""
    return {
        "version": "0.1.0",
        "nodes": [
            {
                "id": "start",
                "data": {
                    "type": "start",
                    "title": "Start",
                    "variables": [{"variable": "text", "type": "paragraph", "label": "Text"}],
                },
            },
            {"id": "tried", "data": {"type": kind, "title": "Tried", **config}},
            {"id": "end", "data": {"type": "end", "title": "End", "outputs": []}},
        ],
        "edges": [
            {"id": "e1", "source": "start", "target": "tried"},
            {"id": "e2", "source": "tried", "target": "end"},
        ],
    }


async def _said(
    backend: InProcess, source: Mapping[str, Json], system: Mapping[str, Json], text: str
) -> str:
    """Everything that came of it: events, outputs and errors."""
    heard: list[Event] = []
    request = Request(document=load_document(source).document, inputs={"text": text}, system=system)
    outcome = await backend.run(request, heard.append)
    said = [outcome.status, outcome.error, outcome.outputs, outcome.stream, *heard, *outcome.steps]
    return json.dumps(said, default=repr, ensure_ascii=False)
