"""A scripted model and a box of tools for agents, which remember what they were asked."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from tests.support.documents import document, end, node, start
from workflows.engine.errors import ToolFailed, ToolMissing
from workflows.engine.language.document import Document
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.engine.runtime.run_request import RunResult
from workflows.engine.runtime.runner import RunHandle, WorkflowRunner
from workflows.engine.runtime.step_records import StepKey
from workflows.engine.runtime.waits import Answer
from workflows.engine.tool_calls import Tool, ToolCall, ToolReference, ToolResult, ToolSpec


Reply = str | Exception | ModelChunk | tuple[str, list[ToolCall]]
MODEL = {"provider": "scripted", "name": "scripted", "mode": "chat"}


def call(name: str, call_id: str = "", /, **arguments: Any) -> ToolCall:
    return ToolCall(call_id or f"id-{name}", name, json.dumps(arguments))


class ScriptedModel:
    """Answers the requests in order, word by word; the last answer is repeated."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = replies
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, ModelChunk):
            yield reply
            return
        text, calls = (reply, []) if isinstance(reply, str) else reply
        for word in text.split(" "):
            yield ModelChunk(text=f"{word} ")
        reason = "tool_calls" if calls else "stop"
        yield ModelChunk(tool_calls=tuple(calls), finish_reason=reason, usage=Usage(10, 5))


class Tools:
    """Tools that are functions, and a ledger of the calls that reached them."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self.functions = functions
        self.ledger: list[tuple[str, Mapping[str, Any], str]] = []
        self.schemas: dict[str, Mapping[str, Any]] = {}
        self.trusted = True
        self.needs_approval: set[str] = set()
        self.versions: dict[str, str] = {}
        self.settings: dict[str, dict[str, Any]] = {}
        self.cause = ""  # why people are asked
        self.missing: set[str] = set()  # in this installation, which is no refusal

    async def find(self, references: Sequence[ToolReference]) -> Sequence[Tool]:
        return [self._find(reference) for reference in references]

    def _find(self, reference: ToolReference) -> Tool:
        if reference.name in self.missing:
            raise ToolMissing(f"There is no tool {reference.name}")
        if reference.name not in self.functions:
            raise ToolFailed(f"There is no tool {reference.name}")
        spec = ToolSpec(
            reference.name,
            f"Does {reference.name}",
            self.schemas.get(reference.name, {"type": "object", "properties": {}}),
        )
        return Tool(
            reference,
            spec,
            reference.name in self.needs_approval,
            not self.trusted,
            version=self.versions.get(reference.name, ""),
            settings=self.settings.get(reference.name, {}),
            cause=self.cause,
        )

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], *, idempotency_key: str
    ) -> ToolResult:
        name = tool.reference.name
        self.ledger.append((name, dict(arguments), idempotency_key))
        result = self.functions[name](**arguments)
        return result if isinstance(result, ToolResult) else ToolResult(str(result))


def agent_document(**data: Any) -> Document:
    """Return a workflow of one agent with the inputs ``q`` and ``text``."""
    outputs = ("text", "rounds", "finish_reason", "usage", "json", "files", "reasoning_content")
    settings = {"model": MODEL, "query": "{{#start.q#}}", **data}
    nodes = [
        start("q", "text"),
        node("agent", "agent", **settings),
        end("end", **{name: ["agent", name] for name in outputs}),
    ]
    return document(nodes, ["start -> agent", "agent -> end"])


def tool_entries(*names: str) -> list[dict[str, Any]]:
    return [{"source": "builtin", "name": name} for name in names]


def build_runner(
    model: Any, port: Any = None, provider: Any = None, /, **data: Any
) -> WorkflowRunner:
    if isinstance(port, Tools) and "tools" not in data:
        data["tools"] = tool_entries(*port.functions)
    return WorkflowRunner(agent_document(**data), models=model, tools=port, memory=provider)


async def run_agent(
    model: Any, port: Any = None, provider: Any = None, /, *, system: Any = None, **data: Any
) -> RunResult:
    runner = build_runner(model, port, provider, **data)
    return await runner.run(inputs={"q": "What is 2 + 2?"}, system=system)


async def answer_wait(
    runner: WorkflowRunner, handle: RunHandle, action: str, **values: Any
) -> tuple[RunHandle, RunResult]:
    """Answer the open wait of a paused run, and return the continued run with its result."""
    [wait] = (await handle.result()).open_waits
    key: StepKey = wait.key
    handle = runner.resume(handle, {key: Answer(values, action)})
    return handle, await handle.result()


async def collect(handle: RunHandle, *names: str) -> list[Any]:
    return [event async for event in handle.events() if event.name in names]
