"""Durable nodes a second beside the floor, in one run: `python -m bench.durable [--rounds 5]`.

The floor is the least that a durable node can cost: one statement (an event and the run's cursor),
one commit, one connection. Ours writes events, steps and intents behind row-level security; a node
with an effect is committed twice (intent, result), quick nodes share commits. The figure is the run's
own time, from the first attempt's start to its last commit, by the database's clock.
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

from bench._services import own_services, takes_really


NODES = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", type=int, default=200, help="five-node runs at once")
    takes_really(parser)
    options = parser.parse_args()
    with own_services(really=options.really):
        _register_effect()
        asyncio.run(_measure(options.rounds, options.small))


def _register_effect() -> None:
    from config import plugins

    plugins.get_plugin_manager().register(_Plugin())


class _Plugin:
    """An effect that takes no time: what remains is the price of being durable."""

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


async def _measure(rounds: int, small: int) -> None:
    from psycopg import AsyncConnection

    from workflows.execution.db import build_conninfo
    from workflows.execution.worker import Worker
    from workflows.services.runs.shell import get_operator

    who = await asyncio.to_thread(get_operator)
    db = await AsyncConnection.connect(build_conninfo("owner"), autocommit=True)
    await db.execute(FLOOR_TABLES)
    worker = Worker(capacity=8)
    worker.start()
    try:
        shapes: dict[str, Callable[[], Awaitable[float]]] = {
            "floor": lambda: _floor(db),
            "pure": lambda: _ours(worker, who, "template-transform"),
            "effect": lambda: _ours(worker, who, "bench-effect"),
        }
        times: dict[str, list[float]] = {name: [] for name in shapes}
        for _ in range(rounds + 1):
            for name, shape in shapes.items():
                times[name].append(await shape())
        rates = {name: [NODES / took for took in taken[1:]] for name, taken in times.items()}
        for name, measured in rates.items():
            print(
                f"{name:8} best {max(measured):7.0f}  median {statistics.median(measured):7.0f} nodes/s"
            )
        for name, bar in (("pure", 3.0), ("effect", 0.45)):
            ratio = max(rates[name]) / max(rates["floor"])
            print(f"{name} / floor = {ratio:.2f}  (bar {bar})")
        if small:
            print(
                f"{small} runs of five nodes: {await _small(worker, who, small):.0f} runs/s (8 at once)"
            )
    finally:
        await asyncio.to_thread(worker.stop, 0)
        await db.execute("drop table bench_floor_event, bench_floor_run")
        await db.close()


async def _floor(connection: Any) -> float:
    run = uuid4()
    await connection.execute("insert into bench_floor_run (id) values (%s)", (run,))
    began = time.perf_counter()
    for number in range(NODES):
        data = json.dumps({"k": number, "v": f"node {number}"})
        await connection.execute(
            "with e as (insert into bench_floor_event values (%s, %s, 'done', %s)) "
            "update bench_floor_run set cursor = %s where id = %s",
            (run, number, data, number, run),
        )
    return time.perf_counter() - began


async def _ours(worker: Any, who: Any, kind: str) -> float:
    run = await asyncio.to_thread(_queued, who, kind, NODES)
    await asyncio.to_thread(worker.execute_run, run.pk)
    return await asyncio.to_thread(_elapsed, run)


async def _small(worker: Any, who: Any, count: int) -> float:
    runs = [await asyncio.to_thread(_queued, who, "template-transform", 5) for _ in range(count)]
    gate = asyncio.Semaphore(8)

    async def one(run: Any) -> None:
        async with gate:
            await asyncio.to_thread(worker.execute_run, run.pk)

    began = time.perf_counter()
    await asyncio.gather(*map(one, runs))
    return count / (time.perf_counter() - began)


def _queued(who: Any, kind: str, nodes: int) -> Any:
    from workflows.engine.testing.backends import Request
    from workflows.services.runs import runs, shell

    runs.wake_worker = lambda _run_id: None  # the benchmark drives it itself, at once
    return shell.queue_request(who, Request(_chain(kind, nodes), checked=True))


def _elapsed(run: Any) -> float:
    from accounts.tenancy import tenant
    from workflows.models import Run

    with tenant([run.team_id]):
        row = Run.objects.unscoped().get(pk=run.pk)
    if row.status != "succeeded":
        raise SystemExit(f"{row.status}: {row.error}")
    return float(row.elapsed or 0)


def _chain(kind: str, nodes: int) -> Any:
    from workflows.engine.language.document import Document, EdgeSpec, Mode, NodeSpec

    ids = [f"n{number}" for number in range(nodes)]
    data = {"template": "a text of twenty ch.", "variables": []}
    specs = [
        NodeSpec("start", "start", {"variables": []}),
        *(NodeSpec(name, kind, data) for name in ids),
        NodeSpec("end", "end", {"outputs": []}),
    ]
    names = ["start", *ids, "end"]
    edges = tuple(EdgeSpec(f"{a}-{b}", a, b) for a, b in pairwise(names))
    return Document(Mode.WORKFLOW, tuple(specs), edges, name="bench")


# Real tables: what isn't logged costs no fsync, and would be no floor.
FLOOR_TABLES = """
    create table if not exists bench_floor_run (id uuid primary key, cursor int not null default 0);
    create table if not exists bench_floor_event (
        run_id uuid not null, seq int not null, kind text not null, data jsonb not null,
        primary key (run_id, seq));
"""


if __name__ == "__main__":
    main()
