"""Durable nodes and runs a second, compared with a floor and with peers: `python -m bench.durable [--rounds 5]`.

The floor is the least that a durable node can cost: one statement (an event and the run's cursor), one commit, one
connection. The engine writes events, steps and intents with row-level security; quick nodes share commits, and the
result of an effect shares one with the intent of the next. An agent commits each call of its model and of its tool. The
time of a run is its own, from the start of its first attempt to its last commit, by the database's clock.

Runs of five nodes are executed eight at once, by us and in the same round by DBOS and LangGraph, which write to schemas of
their own in the same database. Ours are in the queue before the worker may claim them; each peer takes its quickest way of two. Ours share commits among quick nodes, theirs commit each node. With effects, ours commit each node, too.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from bench._common import Bar, install_peer, report, run_script
from bench._services import add_really_option, run_temporary_services


NODES = 100
LONG_RUNS = 5  # one after the other in each round, so that a round takes longer than a hiccup of the machine
AGENT_ROUNDS = 50
AT_ONCE = 8  # runs of five nodes
PEERS = {"dbos": "dbos_peer.py", "langgraph": "langgraph_durable_peer.py"}
REQUIREMENTS = [
    "dbos==3.4.0",
    "langgraph==1.2.22",
    "langgraph-checkpoint-postgres==3.2.0",
    "psycopg[binary]==3.3.9",
    "psycopg-pool==3.3.3",
]
# Logged tables, because writes to unlogged ones cost no fsync.
FLOOR_TABLES = """
    create table if not exists bench_floor_run (id uuid primary key, cursor int not null default 0);
    create table if not exists bench_floor_event (
        run_id uuid not null, seq int not null, kind text not null, data jsonb not null,
        primary key (run_id, seq));
"""

Rates = dict[str, list[float]]  # by candidate: nodes, rounds or runs a second in each round


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--small", type=int, default=200, help="five-node runs in a round; 0 leaves them out"
    )
    parser.add_argument("--json", type=Path, help="write the results to this file")
    add_really_option(parser)
    options = parser.parse_args()
    with run_temporary_services(really=options.really):
        _register_effect()
        rates = asyncio.run(_measure(options.rounds, options.small))
    _print_rates(rates)
    measured = {"rates": rates, "load": os.getloadavg(), "cores": os.cpu_count()}
    return report(_build_bars(rates), measured, options.json)


def _print_rates(rates: Rates) -> None:
    for name, values in rates.items():
        best, median = max(values), statistics.median(values)
        sys.stdout.write(f"{name:14} best {best:7.0f}  median {median:7.0f} a second\n")
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    sys.stdout.write(f"load {load} on {os.cpu_count()} cores\n")


def _build_bars(rates: Rates) -> list[Bar]:
    """Compare within each round, because a machine's speed changes from round to round, and take the median."""
    limits = [("pure", "floor", 3.0), ("effect", "floor", 0.45)]
    small = ("small", "small effects")
    limits += [(name, peer, 3.0) for name in small for peer in PEERS if peer in rates]
    return [
        Bar(f"{name} / {other}", _compute_ratio(rates[name], rates[other]), bar, at_least=True)
        for name, other, bar in limits
    ]


def _compute_ratio(values: list[float], others: list[float]) -> float:
    return statistics.median(value / other for value, other in zip(values, others, strict=True))


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


async def _measure(rounds: int, small_run_count: int) -> Rates:
    """Measure the candidates in turns, and return their rates; the first round only fills caches."""
    from psycopg import AsyncConnection

    from config.postgres.conninfo import build_conninfo
    from workflows.execution.worker import Worker
    from workflows.services.runs.shell import get_or_create_operator

    operator = await asyncio.to_thread(get_or_create_operator)
    db = await AsyncConnection.connect(build_conninfo("owner"), autocommit=True)
    await db.execute(FLOOR_TABLES)
    worker = Worker(capacity=AT_ONCE)
    worker.start()
    try:
        candidates: dict[str, Callable[[], Awaitable[float]]] = {
            "floor": lambda: _measure_floor(db),
            "pure": lambda: _measure_run(worker, operator, "template-transform"),
            "effect": lambda: _measure_run(worker, operator, "bench-effect"),
            "agent": lambda: _measure_agent(worker, operator),
        }
        units = dict.fromkeys(candidates, NODES * LONG_RUNS) | {"agent": AGENT_ROUNDS}
        if small_run_count:
            for name, kind in (("small", "template-transform"), ("small effects", "bench-effect")):
                candidates[name] = partial(
                    _measure_small_runs, worker, operator, kind, small_run_count
                )
            python = await asyncio.to_thread(install_peer, "durable", REQUIREMENTS)
            for peer, script in PEERS.items():
                candidates[peer] = partial(_measure_peer, db, python, script, small_run_count)
        units |= dict.fromkeys(set(candidates) - set(units), small_run_count)
        rates: Rates = {name: [] for name in candidates}
        for _ in range(rounds + 1):
            for name, measure in candidates.items():
                rates[name].append(units[name] / await measure())
        return {name: values[1:] for name, values in rates.items()}
    finally:
        await asyncio.to_thread(worker.stop, 0)
        await db.execute("drop table bench_floor_event, bench_floor_run")
        await db.close()


async def _measure_floor(connection: Any) -> float:
    """Return the seconds that the floor's statements for some runs take, without the insertion of the runs."""
    seconds = 0.0
    for _ in range(LONG_RUNS):
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
        seconds += time.perf_counter() - start
    return seconds


async def _measure_run(worker: Any, operator: Any, kind: str) -> float:
    """Return the seconds of some runs of a chain of nodes of this kind, one after the other."""
    seconds = 0.0
    for _ in range(LONG_RUNS):
        run = await asyncio.to_thread(_queue_run, operator, _build_chain(kind, NODES))
        await asyncio.to_thread(worker.execute_run, run.pk)
        seconds += await asyncio.to_thread(_read_elapsed, run)
    return seconds


async def _measure_agent(worker: Any, operator: Any) -> float:
    """Return the seconds of one run of an agent with a scripted model, which calls the calculator in each round."""
    run = await asyncio.to_thread(_queue_run, operator, _build_agent())
    await asyncio.to_thread(worker.execute_run, run.pk)
    return await asyncio.to_thread(_read_elapsed, run)


async def _measure_small_runs(worker: Any, operator: Any, kind: str, count: int) -> float:
    """Execute queued runs of five nodes, eight at once, and return the seconds that they take together.

    They take their time by the database's clock, from the first start to the last end. A run that was started before the
    last one was queued would be an error of the benchmark.
    """
    return await asyncio.to_thread(_execute_queued, worker, operator, _build_chain(kind, 5), count)


def _execute_queued(worker: Any, operator: Any, document: Any, count: int) -> float:
    from django.test import override_settings

    with override_settings(TEAM_RUNNING_RUNS=0):  # the worker looks at the queue by itself
        runs = [_queue_run(operator, document) for _ in range(count)]
    worker.wake()
    while not (ended := _read_ended(runs)):
        time.sleep(0.02)
    statuses, first_start, last_end, last_queued = ended
    if statuses != ["succeeded"] or first_start < last_queued:
        raise SystemExit(f"runs ended as {statuses}, the first started at {first_start}")
    return float((last_end - first_start).total_seconds())


def _read_ended(runs: list[Any]) -> Any:
    """Return the statuses, first start, last end and last creation of the runs, or None while one goes on."""
    from django.db.models import Max, Min

    from accounts.tenancy import tenant
    from workflows.models import Run

    with tenant([runs[0].team_id]):
        rows = Run.objects.unscoped().filter(pk__in=[run.pk for run in runs])
        if rows.filter(finished_at__isnull=True).exists():
            return None
        times = rows.aggregate(Min("started_at"), Max("finished_at"), Max("created_at"))
        statuses = sorted(rows.order_by().values_list("status", flat=True).distinct())
    return statuses, *times.values()


async def _measure_peer(db: Any, python: Path, script: str, count: int) -> float:
    """Let a peer execute as many runs in a schema of its own, and return the seconds of the quicker of its ways."""
    schema = "bench_peer"
    await db.execute(f"drop schema if exists {schema} cascade")
    await db.execute(f"create schema {schema}")
    settings = {"BENCH_DATABASE": _build_url(), "BENCH_SCHEMA": schema, "BENCH_RUNS": str(count)}
    path = Path(__file__).parent / "peers" / script
    try:
        summaries = await asyncio.to_thread(run_script, python, path, settings)
    finally:
        await db.execute(f"drop schema {schema} cascade")
    return min(summary["wall_best"] for summary in summaries.values())


def _build_url() -> str:
    """Return the address of the owner's database as a URL, as SQLAlchemy expects it."""
    from psycopg.conninfo import conninfo_to_dict

    from config.postgres.conninfo import build_conninfo

    parts = {
        key: quote(str(value), safe="")
        for key, value in conninfo_to_dict(build_conninfo("owner")).items()
    }
    user, password, name = parts.pop("user"), parts.pop("password", ""), parts.pop("dbname")
    query = "&".join(f"{key}={value}" for key, value in parts.items())
    return f"postgresql://{user}:{password}@/{name}?{query}"


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
    sys.exit(main())
