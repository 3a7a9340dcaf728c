"""Run every node kind that uses memory in a small workflow of its own, in this process and with a given memory.

``manage.py leakcheck`` searches the results of one person's runs for the data of another person.
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
from workflows.engine.testing.backends import InProcessBackend, Request
from workflows.engine.tool_calls import ToolCall, ToolSpec
from workflows.execution.kinds import load_kinds
from workflows.sandbox.templates import TemplatePool
from workflows.services.catalog.importing import import_document
from workflows.services.runs.runs import start_run


QUESTION_SELECTOR: Final = ["start", "text"]
QUESTION: Final = "What is the secret?"


class NodeTrials:
    """Implements ``memory.host.NodeTrials``."""

    def prepare(
        self, principal: Principal, team_id: UUID, *, own: str, shared: str
    ) -> Mapping[str, str]:
        source = _build_document("memory-recall", {"scope": "conversation"})
        workflow = import_document(
            principal, team_id=team_id, source=source, name=f"Leak check {shared}"
        ).workflow
        run = start_run(principal, workflow=workflow, inputs={"text": own}, query=own)
        conversation = run.conversation
        ids = {"workflow": str(workflow.pk), "run": str(run.pk)}
        return ids | (
            {"conversation": str(conversation.pk), "conversation_key": conversation.key}
            if conversation
            else {}
        )

    def run_nodes(
        self, memory: Any, system: Mapping[str, Json], *, groups: Iterable[str]
    ) -> Iterator[tuple[str, str]]:
        templates = TemplatePool()
        try:
            backend = InProcessBackend(memory=memory, models=_EchoModel(), templates=templates)
            for name, config in _list_trials():
                source = _build_document(name, config)
                yield f"node {name}", async_to_sync(_run_to_text)(backend, source, system, QUESTION)
            for group in groups:
                config = dict.fromkeys(("topic_selector", "group_id_selector"), QUESTION_SELECTOR)
                source = _build_document("memory-retrieval", config)
                yield (
                    "node memory-retrieval, another's group",
                    async_to_sync(_run_to_text)(backend, source, system, group),
                )
        finally:
            templates.close()


class _EchoModel(ModelPort):
    """A model that first calls every tool, and then returns its prompt, so that the result contains all that it got."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        if request.tools and not any(message.role == "tool" for message in request.messages):
            question = request.messages[-1].text
            yield ModelChunk(
                tool_calls=tuple(_build_call(tool, question) for tool in request.tools)
            )
            return
        prompt = "\n".join(str(message) for message in request.messages)
        yield ModelChunk(text=prompt)


def _build_call(tool: ToolSpec, question: str) -> ToolCall:
    """Call a tool with the question for each required parameter."""
    arguments = dict.fromkeys(tool.parameters.get("required") or (), question)
    return ToolCall(f"call-{tool.name}", tool.name, json.dumps(arguments))


def _list_trials() -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield the kinds that use memory, each with every configuration to try: an empty one if it declares none."""
    for name, kind in sorted(load_kinds().items()):
        for config in kind.leak_check_settings or ([{}] if kind.needs_memory else []):
            yield name, config


def _build_document(kind: str, config: Mapping[str, Json]) -> dict[str, Json]:
    """Return a document with a start node, the node to try and an end node."""
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


async def _run_to_text(
    backend: InProcessBackend, source: Mapping[str, Json], system: Mapping[str, Json], text: str
) -> str:
    """Return the events, outputs and errors of a run as text."""
    events: list[Event] = []
    request = Request(document=load_document(source).document, inputs={"text": text}, system=system)
    outcome = await backend.run(request, events.append)
    results = [
        outcome.status,
        outcome.error,
        outcome.outputs,
        outcome.stream,
        *events,
        *outcome.steps,
    ]
    return json.dumps(results, default=repr, ensure_ascii=False)
