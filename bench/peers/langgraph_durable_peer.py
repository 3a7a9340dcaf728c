"""Measures LangGraph with a checkpoint in PostgreSQL after each of five nodes, for `bench.durable`."""

import asyncio
import json
import os
from typing import TypedDict
from uuid import uuid4

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from bench._common import Spans


NODES, AT_ONCE = 5, 8
COUNT = int(os.environ["BENCH_RUNS"])


class RunState(TypedDict):
    text: str


def build_chain(saver):
    graph = StateGraph(RunState)
    for index in range(NODES):

        async def step(state, index=index):
            return {"text": f"node {index}: {state['text'][:20]}"}

        graph.add_node(f"n{index}", step)
        graph.add_edge(START if index == 0 else f"n{index - 1}", f"n{index}")
    graph.add_edge(f"n{NODES - 1}", END)
    return graph.compile(checkpointer=saver)


async def run_many(graph, durability: str) -> None:
    semaphore = asyncio.Semaphore(AT_ONCE)

    async def run_one() -> None:
        async with semaphore:
            thread = {"configurable": {"thread_id": str(uuid4())}}
            await graph.ainvoke({"text": "x"}, thread, durability=durability)

    await asyncio.gather(*(run_one() for _ in range(COUNT)))


async def measure() -> dict[str, dict[str, float]]:
    options = {
        "autocommit": True,
        "prepare_threshold": 0,
        "row_factory": dict_row,
        "options": f"-c search_path={os.environ['BENCH_SCHEMA']}",
    }
    measured = {}
    async with AsyncConnectionPool(
        os.environ["BENCH_DATABASE"], min_size=AT_ONCE, max_size=AT_ONCE, kwargs=options
    ) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        graph = build_chain(saver)
        for durability in ("sync", "async"):
            await run_many(graph, durability)  # fills caches
            spans = measured[durability] = Spans()
            with spans.measure():
                await run_many(graph, durability)
    return {name: spans.summarize() for name, spans in measured.items()}


print(json.dumps(asyncio.run(measure())))
