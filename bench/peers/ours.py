"""Measures our engine in this process. The events of each run are read to the end."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

from bench._common import Spans, repeat
from bench.peers.agent_task import (
    ANSWER,
    INSTRUCTION,
    QUESTION,
    ROUNDS,
    TOKENS,
    add,
    check_answer,
    describe_round,
)
from workflows.engine.kinds import NodeConfig, NodeContext, NodeKind, NodeResult
from workflows.engine.language.document import Document, EdgeSpec, Json, Mode, NodeSpec
from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.engine.runtime.runner import WorkflowRunner
from workflows.engine.tool_calls import ToolCall


class Nap(NodeKind[NodeConfig, NodeConfig]):
    name = "nap"
    title = "Nap"

    async def run(self, prepared: NodeConfig, ctx: NodeContext) -> NodeResult:
        await asyncio.sleep(0.02)
        return NodeResult({"output": 1})


def build_template(node_id: str, source: str) -> NodeSpec:
    name = "q" if source == "start" else "output"
    variables = [{"variable": "a", "value_selector": [source, name]}]
    # Only the start's text is passed on, so that texts don't grow along the chain.
    return NodeSpec(
        node_id, "template-transform", {"template": "node: {{ a }}", "variables": variables}
    )


def build_chain(length: int) -> Document:
    names = [f"n{index}" for index in range(length)]
    nodes = [NodeSpec("start", "start", {"variables": [{"variable": "q", "type": "paragraph"}]})]
    nodes += [build_template(name, "start") for name in names]
    outputs = [{"variable": "o", "value_selector": [names[-1], "output"]}]
    nodes.append(NodeSpec("end", "end", {"outputs": outputs}))
    path = ["start", *names, "end"]
    edges = [EdgeSpec(f"e{i}", path[i], path[i + 1]) for i in range(len(path) - 1)]
    return Document(Mode.WORKFLOW, tuple(nodes), tuple(edges))


def build_fan(width: int) -> Document:
    names = [f"b{index}" for index in range(width)]
    nodes = [NodeSpec("start", "start", {})]
    nodes += [NodeSpec(name, "nap", {}) for name in names]
    nodes.append(NodeSpec("end", "end", {"outputs": []}))
    edges = [EdgeSpec(f"i{name}", "start", name) for name in names]
    edges += [EdgeSpec(f"o{name}", name, "end") for name in names]
    return Document(Mode.WORKFLOW, tuple(nodes), tuple(edges))


class ScriptedModel:
    """Implements ``ports.ModelPort`` and answers at once, the text and the call in one piece."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        number = len(request.messages) // 2 - 1
        usage = Usage(*TOKENS)
        if number == ROUNDS:
            yield ModelChunk(ANSWER, finish_reason="stop", usage=usage)
            return
        thought, arguments = describe_round(number)
        call = ToolCall(f"call-{number}", "add", json.dumps(arguments))
        yield ModelChunk(thought, tool_calls=(call,), finish_reason="tool_calls", usage=usage)


def build_agent() -> Document:
    agent = {
        "model": {"provider": "scripted", "name": "scripted", "mode": "chat"},
        "instruction": INSTRUCTION,
        "query": QUESTION,
        "tools": [{"source": "plugin", "name": "add"}],
        "max_rounds": ROUNDS + 1,
    }
    outputs = [{"variable": name, "value_selector": ["agent", name]} for name in ("text", "rounds")]
    nodes = (
        NodeSpec("start", "start", {}),
        NodeSpec("agent", "agent", agent),
        NodeSpec("end", "end", {"outputs": outputs}),
    )
    edges = (EdgeSpec("e1", "start", "agent"), EdgeSpec("e2", "agent", "end"))
    return Document(Mode.WORKFLOW, nodes, edges)


async def run_agent(runner: WorkflowRunner) -> None:
    """Run the agent with its events. A round has four: the beginning and the end of the model's call and the tool's."""
    outputs = await run(runner, 4 * ROUNDS)
    check_answer(str(outputs["text"]), len(outputs["rounds"]) - 1)


async def run(runner: WorkflowRunner, least_events: int) -> Mapping[str, Json]:
    """Run the workflow and return its outputs; raise ``RuntimeError`` if it fails or has fewer events."""
    handle = runner.start(inputs={"q": "x"})
    count = 0
    async for _ in handle.events():
        count += 1
    result = await handle.result()
    if not result.is_successful or count < least_events:
        raise RuntimeError(f"{result.status}: {result.error}, {count} events")
    return result.outputs


async def run_many(runner: WorkflowRunner, count: int) -> None:
    await asyncio.gather(*(run(runner, 10) for _ in range(count)))


async def run_floor(width: int) -> None:
    """Wait as the fan-out does, without an engine."""
    await asyncio.gather(*(asyncio.sleep(0.02) for _ in range(width)))


def main() -> None:
    long_chain = WorkflowRunner(build_chain(1000), max_steps=2000)
    wide_fan = WorkflowRunner(build_fan(100), plugins=[Nap()])
    short_chain = WorkflowRunner(build_chain(3))  # five nodes with start and end
    agent = WorkflowRunner(build_agent(), models=ScriptedModel(), tools=[add])
    loop = asyncio.new_event_loop()
    measured: dict[str, Spans] = {
        "chain": repeat(lambda: loop.run_until_complete(run(long_chain, 2004)), 15),
        "floor": repeat(lambda: loop.run_until_complete(run_floor(100)), 15),
        "fan": repeat(lambda: loop.run_until_complete(run(wide_fan, 204)), 15),
        "small": repeat(lambda: loop.run_until_complete(run_many(short_chain, 200)), 10),
        "agent": repeat(lambda: loop.run_until_complete(run_agent(agent)), 20),
    }
    print(json.dumps({name: spans.summarize() for name, spans in measured.items()}))


main()
