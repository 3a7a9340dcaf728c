"""Measures DBOS Transact with runs of five durable steps, eight at once, on the PostgreSQL server of `bench.durable`.

A run is called directly, which is DBOS's fastest way; `start_workflow` and a wait for its result take longer.
"""

import asyncio
import json
import os
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS

from bench._common import repeat


NODES, AT_ONCE = 5, 8
COUNT = int(os.environ["BENCH_RUNS"])

DBOS(
    config={
        "name": "bench",
        "system_database_url": os.environ["BENCH_DATABASE"],
        "dbos_system_schema": os.environ["BENCH_SCHEMA"],
        "log_level": "ERROR",
        "enable_otlp": False,
    }
)


@DBOS.step()
def describe(number, text):
    return f"node {number}: {text[:20]}"


@DBOS.workflow()
def run_chain():
    text = "x"
    for number in range(NODES):
        text = describe(number, text)
    return text


@DBOS.step()
async def describe_async(number, text):
    return f"node {number}: {text[:20]}"


@DBOS.workflow()
async def run_chain_async():
    text = "x"
    for number in range(NODES):
        text = await describe_async(number, text)
    return text


def run_in_threads() -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda _: run_chain(), range(COUNT)))


async def run_in_tasks() -> None:
    semaphore = asyncio.Semaphore(AT_ONCE)

    async def run_one() -> None:
        async with semaphore:
            await run_chain_async()

    await asyncio.gather(*(run_one() for _ in range(COUNT)))


DBOS.launch()
measured = {
    "threads": repeat(run_in_threads, 1),
    "tasks": repeat(lambda: asyncio.run(run_in_tasks()), 1),
}
DBOS.destroy()
print(json.dumps({name: spans.summarize() for name, spans in measured.items()}))
