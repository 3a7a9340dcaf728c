"""Memory's latency at 500 entries, and exactness under 16 writers: `python -m bench.memory [--json FILE]`.

The database is PostgreSQL with row-level security and the app's role, and every operation includes permissions, quotas,
revisions and audit. "service" measures the service; "run" measures how long a workflow's node waits, including event
loop and thread. "remember" judges the turns of the held-out conversations (`bench/judgement/conversations.yml`, sixteen
languages) without a model, compares each with what is known, and stores, replaces or forgets; no turn is measured twice.
The p95 is printed over all rounds, for the median of the rounds (which the bar limits) and for the best. The CPU time is that of this process without the database's.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from threading import Barrier
from typing import Any

from bench._common import LATENCY_HEADERS, Bar, compute_latency, compute_percentile, report
from bench._services import add_really_option, create_operator, run_temporary_services
from bench.judgement.conversations import list_turns


ENTRIES, TIMES, ROUNDS = 500, 100, 3
REMEMBER = "run remember a message"
# The p95 in milliseconds, at most.
MAX_MS, MAX_REMEMBER_MS = 10.0, 15.0
WRITERS, ENTRIES_PER_WRITER, MAX_ENTRIES = 16, 10, 100

Times = dict[str, list[list[float]]]  # operation → rounds of milliseconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    add_really_option(parser)
    options = parser.parse_args()
    with run_temporary_services(really=options.really):
        user, team = create_operator()
        caller = _build_caller(user, team)
        times = _measure_times(caller)
        cpu = _measure_cpu(caller)
        times[REMEMBER], cpu[REMEMBER] = _measure_turns(caller)
        stored_count, is_intact = _write_concurrently(user, team)
    _print_table(times)
    for name, milliseconds in cpu.items():
        sys.stdout.write(f"{name:28}{milliseconds:8.2f} ms of CPU each\n")
    bars = [
        Bar(
            f"{name} p95",
            compute_latency(rounds, 95).median,
            MAX_REMEMBER_MS if name == REMEMBER else MAX_MS,
            " ms",
        )
        for name, rounds in sorted(times.items())
    ]
    name = f"entries of {WRITERS} writers at a limit of {MAX_ENTRIES}"
    bars.append(Bar(f"{name}, at least", stored_count, MAX_ENTRIES, at_least=True))
    bars.append(Bar(f"{name}, at most", stored_count, MAX_ENTRIES))
    bars.append(Bar("audit chain intact afterwards", float(is_intact), 1, at_least=True))
    measured: dict[str, object] = {
        name: [_summarize(milliseconds) for milliseconds in rounds]
        for name, rounds in times.items()
    }
    return report(bars, measured, options.json)


def _summarize(milliseconds: list[float]) -> dict[str, float]:
    return {f"p{percent}": compute_percentile(milliseconds, percent) for percent in (50, 95, 99)}


def _build_caller(user: Any, team: Any) -> Any:
    """Build the memory caller of a run of this user."""
    from accounts.principals import load_user_principal
    from memory.services import CallOrigin, MemoryCaller, list_reachable

    identity = {"user_id": str(user.pk), "app_id": "bench", "run_id": "r1"}
    return MemoryCaller(
        load_user_principal(user),
        team.pk,
        identity=identity,
        reach=list_reachable(identity),
        origin=CallOrigin("r1", "node", "step"),
    )


def _measure_times(caller: Any) -> Times:
    from memory import services

    texts = [_make_sentence(number) for number in range(ENTRIES)]
    for number, text in enumerate(texts):
        services.remember(caller, scope="user", key=f"fact-{number}", value=text)
    times: Times = {}
    for _ in range(ROUNDS):
        for name, operation in _list_operations(caller).items():
            operation(0)  # the first call also imports modules and fills caches
            milliseconds = [_measure_call(operation, number) for number in range(TIMES)]
            times.setdefault(name, []).append(milliseconds)
        for name, milliseconds in asyncio.run(_measure_port(caller)).items():
            times.setdefault(name, []).append(milliseconds)
    return times


def _list_operations(caller: Any) -> dict[str, Callable[[int], object]]:
    from dataclasses import replace

    from memory import services
    from memory.services import CallOrigin

    def in_step(number: int) -> Any:
        """Return the caller for a new step, as in a run."""
        return replace(caller, origin=CallOrigin("r1", "node", f"{time.monotonic_ns()}-{number}"))

    return {
        "service recall by text": lambda n: services.recall(
            in_step(n), scope="user", query_text=_make_question(n), top_k=10
        ),
        "service recall by key": lambda n: services.recall(
            in_step(n), scope="user", key=f"fact-{n}"
        ),
        "service store over a key": lambda n: services.remember(
            in_step(n), scope="user", key=f"fact-{n}", value=_make_sentence(n)
        ),
    }


def _measure_cpu(caller: Any) -> dict[str, float]:
    """Return the milliseconds of CPU time per call of each operation."""
    times = {}
    for name, operation in _list_operations(caller).items():
        start = time.process_time()
        for number in range(TIMES):
            operation(number)
        times[name] = (time.process_time() - start) * 1000 / TIMES
    return times


async def _measure_port(caller: Any) -> dict[str, list[float]]:
    """Return the milliseconds of recalls and stores through the port that a run's nodes use."""
    from memory.services.gateway.engine_port import RunMemory
    from workflows.engine.ports import Origin

    port = RunMemory(caller)
    recalls: list[float] = []
    stores: list[float] = []
    for number in range(-1, TIMES):
        step: dict[str, Any] = {
            "identity": {},
            "origin": Origin("r1", "node", f"{time.monotonic_ns()}"),
        }
        start = time.perf_counter()
        await port.recall(scope="user", query_text=_make_question(number), top_k=10, **step)
        recalled_at = time.perf_counter()
        await port.store(
            scope="user", key=f"fact-{abs(number)}", value=_make_sentence(number), **step
        )
        if number >= 0:
            recalls.append((recalled_at - start) * 1000)
            stores.append((time.perf_counter() - recalled_at) * 1000)
    return {"run recall by text": recalls, "run store over a key": stores}


def _measure_turns(caller: Any) -> tuple[list[list[float]], float]:
    """Return the milliseconds of *Remember* for each turn of the conversations, in rounds, and of CPU time per turn."""
    turns, start = list_turns(), time.process_time()
    rounds = [
        asyncio.run(_measure_remembering(caller, turns[number::ROUNDS])) for number in range(ROUNDS)
    ]
    return rounds, (time.process_time() - start) * 1000 / len(turns)


async def _measure_remembering(caller: Any, messages: Sequence[str]) -> list[float]:
    """Return the milliseconds of what *Remember* does with each of the messages but the first, without a model."""
    from memory.services.gateway.engine_port import RunMemory
    from workflows.engine.ports import Origin

    port = RunMemory(caller)
    milliseconds: list[float] = []
    for message in messages:
        step: dict[str, Any] = {
            "scope": "user",
            "identity": {},
            "origin": Origin("r1", "node", f"{time.monotonic_ns()}"),
        }
        start = time.perf_counter()
        await port.learn_message(message=message, decide=_build_operations, **step)
        milliseconds.append((time.perf_counter() - start) * 1000)
    return milliseconds[1:]  # the first one also loads the encoder and imports modules


def _build_operations(proposal: Any) -> list[dict[str, Any]]:
    return [
        {
            "action": str(operation.action),
            "text": operation.text,
            "targets": list(operation.targets),
            "evidence": operation.evidence,
            "key": f"said-{time.monotonic_ns()}",
        }
        for operation in proposal.operations
    ]


def _write_concurrently(user: Any, team: Any) -> tuple[int, bool]:
    """Store entries in many threads at once; return how many were stored, and whether the audit chain is intact."""
    from django.db import connection

    from accounts.audit import verify
    from accounts.principals import load_user_principal
    from accounts.tenancy import tenant
    from memory import services
    from memory.core.errors import QuotaExceeded
    from memory.models import Entry, Policy

    with tenant([team.pk]):
        Policy.objects.unscoped().create(team=team, max_entries=MAX_ENTRIES)
    caller = services.MemoryCaller(load_user_principal(user), team.pk)
    barrier = Barrier(WRITERS)

    def write(writer: int) -> None:
        barrier.wait()
        for number in range(ENTRIES_PER_WRITER):
            with suppress(QuotaExceeded):
                services.remember(caller, namespace="global:x", key=f"{writer}-{number}", value=1)
        connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    with tenant([team.pk]):
        entries = Entry.objects.unscoped().filter(namespace__text="global:x", deleted_at=None)
        stored_count = entries.count()
    return stored_count, verify(team.pk).intact


_NAMES = ("Mia", "Ben", "Ada", "Tom", "Zoë", "Kai", "Lena", "Omar")
_VERBS = ("visited", "painted", "repaired", "cooked for", "wrote about", "photographed", "missed")
_OBJECTS = (
    "the harbour",
    "an old bicycle",
    "her grandmother",
    "the lighthouse",
    "a stray cat",
    "the choir",
)
_TIMES = ("on Monday", "last winter", "in Lisbon", "before the exam", "with two friends", "at dawn")


def _make_sentence(number: int) -> str:
    n = abs(number)
    words = (_NAMES[n % 8], _VERBS[n // 3 % 7], _OBJECTS[n // 5 % 6], _TIMES[n // 7 % 6])
    return f"{' '.join(words)}, and told everybody about it {n % 11} times."


def _make_question(number: int) -> str:
    return f"When did {_NAMES[number % 8]} see {_OBJECTS[number % 6]}?"


def _measure_call(operation: Callable[[int], object], number: int) -> float:
    """Return the duration of one call in milliseconds."""
    start = time.perf_counter()
    operation(number)
    return (time.perf_counter() - start) * 1000


def _print_table(times: Times) -> None:
    sys.stdout.write(f"{'ms, at 500 entries':28}{'p50':>8}{'p99':>8}   p95 of{LATENCY_HEADERS}\n")
    for name, rounds in times.items():
        values = list(chain.from_iterable(rounds))
        columns = "".join(f"{compute_percentile(values, n):8.2f}" for n in (50, 99))
        latency = compute_latency(rounds, 95).format_columns()
        sys.stdout.write(f"{name:28}{columns}{'':9}{latency}\n")


if __name__ == "__main__":
    sys.exit(main())
