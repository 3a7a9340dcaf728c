"""Measures LangGraph, compiled once and without a checkpointer, with the workloads of `bench.engine`."""

import asyncio
import json
import operator
from typing import Annotated, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import create_react_agent

from bench._common import repeat
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


class RunState(TypedDict):
    text: str
    results: Annotated[list, operator.add]


def build_chain(length: int):
    graph = StateGraph(RunState)
    for index in range(length):

        async def step(state, index=index):
            return {"text": f"node {index}: {state['text'][:20]}"}

        graph.add_node(f"n{index}", step)
        graph.add_edge(START if index == 0 else f"n{index - 1}", f"n{index}")
    graph.add_edge(f"n{length - 1}", END)
    return graph.compile()


def build_fan(width: int):
    graph = StateGraph(RunState)

    async def do_nothing(state):
        return {}

    async def nap(state):
        await asyncio.sleep(0.02)
        return {"results": [1]}

    graph.add_node("begin", do_nothing)
    graph.add_edge(START, "begin")
    graph.add_node("join", do_nothing)
    for index in range(width):
        graph.add_node(f"b{index}", nap)
        graph.add_edge("begin", f"b{index}")
    graph.add_edge([f"b{index}" for index in range(width)], "join")
    graph.add_edge("join", END)
    return graph.compile()


async def invoke(graph, length: int) -> None:
    await graph.ainvoke({"text": "x", "results": []}, {"recursion_limit": length + 10})


async def invoke_many(graph, count: int) -> None:
    await asyncio.gather(*(invoke(graph, 5) for _ in range(count)))


class ScriptedChatModel(BaseChatModel):
    """A chat model that answers at once. Its tools need not be converted, because no server gets them."""

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        return ChatResult(generations=[ChatGeneration(message=answer(len(messages) // 2 - 1))])

    async def _agenerate(self, messages, stop=None, run_manager=None, **options):
        return self._generate(messages)


def answer(number: int) -> AIMessage:
    usage = {
        "input_tokens": TOKENS[0],
        "output_tokens": TOKENS[1],
        "total_tokens": sum(TOKENS),
    }
    if number == ROUNDS:
        return AIMessage(ANSWER, usage_metadata=usage)
    thought, arguments = describe_round(number)
    call = {"name": "add", "args": arguments, "id": f"call-{number}"}
    return AIMessage(thought, tool_calls=[call], usage_metadata=usage)


async def invoke_agent(agent) -> None:
    # Each round takes two steps of the graph, and the last answer one more.
    state = {"messages": [("user", QUESTION)]}
    result = await agent.ainvoke(state, {"recursion_limit": 2 * ROUNDS + 10})
    messages = result["messages"]
    check_answer(messages[-1].content, len(messages) // 2 - 1)


agent = create_react_agent(ScriptedChatModel(), [add], prompt=SystemMessage(INSTRUCTION))
long_chain, wide_fan, short_chain = build_chain(1000), build_fan(100), build_chain(5)
measured = {
    "chain": repeat(lambda: asyncio.run(invoke(long_chain, 1000)), 3),
    "fan": repeat(lambda: asyncio.run(invoke(wide_fan, 10)), 5),
    "small": repeat(lambda: asyncio.run(invoke_many(short_chain, 200)), 3),
    "agent": repeat(lambda: asyncio.run(invoke_agent(agent)), 10),
}
print(json.dumps({name: spans.summarize() for name, spans in measured.items()}))
