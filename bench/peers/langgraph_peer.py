"""Measures LangGraph, compiled once and without a checkpointer, with the workloads of `bench.engine`."""

import asyncio
import json
import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph

from bench._common import repeat


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


long_chain, wide_fan, short_chain = build_chain(1000), build_fan(100), build_chain(5)
measured = {
    "chain": repeat(lambda: asyncio.run(invoke(long_chain, 1000)), 3),
    "fan": repeat(lambda: asyncio.run(invoke(wide_fan, 10)), 5),
    "small": repeat(lambda: asyncio.run(invoke_many(short_chain, 200)), 3),
}
print(json.dumps({name: spans.summarize() for name, spans in measured.items()}))
