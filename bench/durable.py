"""Durable nodes a second, compared with the floor: `python -m bench.durable [--rounds 5]`.

The floor is the least that a durable node can cost: one statement (an event and the run's cursor), one commit, one
connection. The engine writes events, steps and intents with row-level security; a node with an effect needs two commits
(intent, result), and quick nodes share commits. An agent commits each call of its model and of its tool. The time is the
run's own, from the start of its first attempt to its last commit, by the database's clock.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any
from uuid import uuid4

from bench._services import add_really_option, run_temporary_services


NODES = 100
AGENT_ROUNDS = 50
# Logged tables, because writes to unlogged ones cost no fsync.
FLOOR_TABLES = """
    create table if not exists bench_floor_run (id uuid primary key, cursor int not null default 0);
    create table if not exists bench_floor_event (
        run_id uuid not null, seq int not null, kind text not null, data jsonb not null,
        primary key (run_id, seq));
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", type=int, default=200, help="five-node runs at once")
    add_really_option(parser)
    options = parser.parse_args()
    with run_temporary_services(really=options.really):
        _register_effect()
        asyncio.run(_measure(options.rounds, options.small))


def _register_effect() -> None:
    from config import plugins

    plugins.get_plugin_manager().register(_Plugin())


class _Plugin:
    """A plug-in with a node kind whose effect takes no time, so that only the cost of durability is measured."""

    def __init__(self) -> None:
        from config.plugins import hookimpl
        from workflows.engine.kinds import NodeContext, NodeKind, NodeResult

        class Effect(NodeKind[Any, Any]):
            name = "bench-effect"
            title = "Effect"
            has_effect = True

            async def run(self, prepared: Any, ctx: NodeContext) -> NodeResult:
                return NodeResult({"output": f"effect {ctx.node_id}"})

        self._kinds = [Effect()]
        type(self).node_kinds = hookimpl(lambda self: self._kinds)  # type: ignore[attr-defined]


async def _measure(rounds: int, small_run_count: int) -> None:
    """Measure the candidates in turns and print their rates; the first round only fills caches."""
    from psycopg import AsyncConnection

    from workflows.execution.db import build_conninfo
    from workflows.execution.worker import Worker
    from workflows.services.runs.shell import get_or_create_operator

    operator = await asyncio.to_thread(get_or_create_operator)
    db = await AsyncConnection.connect(build_conninfo("owner"), autocommit=True)
    await db.execute(FLOOR_TABLES)
    worker = Worker(capacity=8)
    worker.start()
    try:
        candidates: dict[str, Callable[[], Awaitable[float]]] = {
            "floor": lambda: _measure_floor(db),
            "pure": lambda: _measure_run(worker, operator, "template-transform"),
            "effect": lambda: _measure_run(worker, operator, "bench-effect"),
            "agent": lambda: _measure_agent(worker, operator),
        }
        times: dict[str, list[float]] = {name: [] for name in candidates}  # seconds by round
        for _ in range(rounds + 1):
            for name, measure in candidates.items():
                times[name].append(await measure())
        units = dict.fromkeys(candidates, (NODES, "nodes")) | {"agent": (AGENT_ROUNDS, "rounds")}
        rates = {
            name: [units[name][0] / duration for duration in seconds[1:]]
            for name, seconds in times.items()
        }
        for name, values in rates.items():
            best, median = max(values), statistics.median(values)
            print(f"{name:8} best {best:7.0f}  median {median:7.0f} {units[name][1]}/s")
        for name, bar in (("pure", 3.0), ("effect", 0.45)):
            ratio = max(rates[name]) / max(rates["floor"])
            print(f"{name} / floor = {ratio:.2f}  (bar {bar})")
        if small_run_count:
            rate = await _measure_small_runs(worker, operator, small_run_count)
            print(f"{small_run_count} runs of five nodes: {rate:.0f} runs/s (8 at once)")
    finally:
        await asyncio.to_thread(worker.stop, 0)
        await db.execute("drop table bench_floor_event, bench_floor_run")
        await db.close()


async def _measure_floor(connection: Any) -> float:
    """Return the seconds that the floor's statements for one run take."""
    run = uuid4()
    await connection.execute("insert into bench_floor_run (id) values (%s)", (run,))
    start = time.perf_counter()
    for number in range(NODES):
        data = json.dumps({"k": number, "v": f"node {number}"})
        await connection.execute(
            "with e as (insert into bench_floor_event values (%s, %s, 'done', %s)) "
            "update bench_floor_run set cursor = %s where id = %s",
            (run, number, data, number, run),
        )
    return time.perf_counter() - start


async def _measure_run(worker: Any, operator: Any, kind: str) -> float:
    """Return the seconds of one run of a chain of nodes of this kind."""
    run = await asyncio.to_thread(_queue_run, operator, _build_chain(kind, NODES))
    await asyncio.to_thread(worker.execute_run, run.pk)
    return await asyncio.to_thread(_read_elapsed, run)


async def _measure_agent(worker: Any, operator: Any) -> float:
    """Return the seconds of one run of an agent with a scripted model, which calls the calculator in each round."""
    run = await asyncio.to_thread(_queue_run, operator, _build_agent())
    await asyncio.to_thread(worker.execute_run, run.pk)
    return await asyncio.to_thread(_read_elapsed, run)


async def _measure_small_runs(worker: Any, operator: Any, count: int) -> float:
    """Execute runs of five nodes, eight at once, and return how many end per second."""
    chain = _build_chain("template-transform", 5)
    runs = [await asyncio.to_thread(_queue_run, operator, chain) for _ in range(count)]
    semaphore = asyncio.Semaphore(8)

    async def execute(run: Any) -> None:
        async with semaphore:
            await asyncio.to_thread(worker.execute_run, run.pk)

    start = time.perf_counter()
    await asyncio.gather(*map(execute, runs))
    return count / (time.perf_counter() - start)


def _queue_run(operator: Any, document: Any) -> Any:
    from workflows.engine.testing.backends import Request
    from workflows.services.runs import runs, shell

    runs.wake_worker = lambda _run_id: None  # the benchmark executes the run itself
    return shell.queue_request(operator, Request(document, checked=True))


def _read_elapsed(run: Any) -> float:
    from accounts.tenancy import tenant
    from workflows.models import Run

    with tenant([run.team_id]):
        row = Run.objects.unscoped().get(pk=run.pk)
    if row.status != "succeeded":
        raise SystemExit(f"{row.status}: {row.error}")
    return float(row.elapsed or 0)


def _build_agent() -> Any:
    calls = [
        {"text": f"Step {number}", "tool_calls": [
            {"name": "calculator", "arguments": {"expression": f"{number} + 1"}}]}
        for number in range(AGENT_ROUNDS)
    ]  # fmt: skip
    script = {"offline_script": [*calls, {"text": "Done"}]}
    model = {"provider": "offline", "name": "extractive", "mode": "chat"}
    return _build_document(
        ["agent"],
        "agent",
        {
            "model": {**model, "completion_params": script},
            "query": "Count to fifty",
            "tools": [{"source": "builtin", "name": "calculator"}],
            "max_rounds": AGENT_ROUNDS + 1,
        },
    )


def _build_chain(kind: str, nodes: int) -> Any:
    ids = [f"n{number}" for number in range(nodes)]
    return _build_document(ids, kind, {"template": "a text of twenty ch.", "variables": []})


def _build_document(ids: list[str], kind: str, data: dict[str, Any]) -> Any:
    """Return the document of a chain of nodes that all have this kind and this data."""
    from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec

    specs = [
        NodeSpec("start", "start", {"variables": []}),
        *(NodeSpec(name, kind, data) for name in ids),
        NodeSpec("end", "end", {"outputs": []}),
    ]
    names = ["start", *ids, "end"]
    edges = tuple(EdgeSpec(f"{a}-{b}", a, b) for a, b in pairwise(names))
    return Document(Mode.WORKFLOW, tuple(specs), edges, name="bench")


if __name__ == "__main__":
    main()
