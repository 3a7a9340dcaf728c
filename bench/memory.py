"""Memory's latency at 500 entries, and exactness under 16 writers: `python -m bench.memory [--json FILE]`.

Everything is real: PostgreSQL behind row-level security as the app's role, permission, quota, revision and
audit of every operation. "service" is the door itself, "run" is what a workflow's node pays, event loop and
thread included. Beside the whole stand the p95 of the round in the middle, which the bar
judges, and of the best; and the CPU time of this process (the database's is its own): the machine may be shared.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier
from typing import Any

from bench._common import LATENCY_HEADS, Bar, latency, percentile, report
from bench._services import own_services, takes_really


ENTRIES, TIMES, ROUNDS = 500, 100, 3
WRITERS, EACH, LIMIT = 16, 10, 100

Times = dict[str, list[list[float]]]  # what → rounds of milliseconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the bars down")
    takes_really(parser)
    options = parser.parse_args()
    with own_services(really=options.really):
        who = _operator()
        times = _timed(_caller(who))
        cpu = _cpu(_caller(who))
        stored, intact = _many_writers(who)
    _table(times)
    for what, milliseconds in cpu.items():
        sys.stdout.write(f"{what:28}{milliseconds:8.2f} ms of CPU each\n")
    bars = [
        Bar(f"{what} p95", latency(rounds, 95).middle, 10.0, " ms")
        for what, rounds in sorted(times.items())
    ]
    bars.append(
        Bar(
            f"entries of {WRITERS} writers at a limit of {LIMIT}, at least",
            stored,
            LIMIT,
            at_least=True,
        )
    )
    bars.append(Bar(f"entries of {WRITERS} writers at a limit of {LIMIT}, at most", stored, LIMIT))
    bars.append(Bar("audit chain whole after it", float(intact), 1, at_least=True))
    measured: dict[str, object] = {
        what: [{f"p{n}": percentile(one, n) for n in (50, 95, 99)} for one in rounds]
        for what, rounds in times.items()
    }
    return report(bars, measured, options.json)


def _operator() -> Any:
    from accounts.models import User
    from accounts.services import create_team
    from config.ids import uuid7

    user = User.objects.create_user(f"bench-{uuid7().hex}@example.org", name="Bench")
    return user, create_team(owner=user, name="Bench")


def _caller(who: Any) -> Any:
    """A run of this person's."""
    from accounts.principals import load_user_principal
    from memory.services import CallOrigin, MemoryCaller, list_reachable

    user, team = who
    known = {"user_id": str(user.pk), "app_id": "bench", "run_id": "r1"}
    return MemoryCaller(
        load_user_principal(user),
        team.pk,
        identity=known,
        reach=list_reachable(known),
        origin=CallOrigin("r1", "node", "step"),
    )


def _timed(caller: Any) -> Times:
    from memory import services

    texts = [_sentence(number) for number in range(ENTRIES)]
    for number, text in enumerate(texts):
        services.remember(caller, scope="user", key=f"fact-{number}", value=text)
    times: Times = {}
    for _ in range(ROUNDS):
        for what, act in _acts(caller).items():
            act(0)  # the first one pays for imports and caches
            times.setdefault(what, []).append([_milliseconds(act, n) for n in range(TIMES)])
        for what, taken in asyncio.run(_through_a_run(caller)).items():
            times.setdefault(what, []).append(taken)
    return times


def _acts(caller: Any) -> dict[str, Callable[[int], object]]:
    from dataclasses import replace

    from memory import services
    from memory.services import CallOrigin

    def at(number: int) -> Any:
        """A step of its own each time, as in a run."""
        return replace(caller, origin=CallOrigin("r1", "node", f"{time.monotonic_ns()}-{number}"))

    return {
        "service recall by text": lambda n: services.recall(
            at(n), scope="user", query_text=_question(n), top_k=10
        ),
        "service recall by key": lambda n: services.recall(at(n), scope="user", key=f"fact-{n}"),
        "service store over a key": lambda n: services.remember(
            at(n), scope="user", key=f"fact-{n}", value=_sentence(n)
        ),
    }


def _cpu(caller: Any) -> dict[str, float]:
    found = {}
    for what, act in _acts(caller).items():
        began = time.process_time()
        for number in range(TIMES):
            act(number)
        found[what] = (time.process_time() - began) * 1000 / TIMES
    return found


async def _through_a_run(caller: Any) -> dict[str, list[float]]:
    from memory.services.gateway.engine_port import RunMemory
    from workflows.engine.ports import Origin

    port = RunMemory(caller)
    taken: dict[str, list[float]] = {"run recall by text": [], "run store over a key": []}
    for number in range(-1, TIMES):
        step: dict[str, Any] = {
            "identity": {},
            "origin": Origin("r1", "node", f"{time.monotonic_ns()}"),
        }
        began = time.perf_counter()
        await port.recall(scope="user", query_text=_question(number), top_k=10, **step)
        between = time.perf_counter()
        await port.store(scope="user", key=f"fact-{abs(number)}", value=_sentence(number), **step)
        if number >= 0:
            taken["run recall by text"].append((between - began) * 1000)
            taken["run store over a key"].append((time.perf_counter() - between) * 1000)
    return taken


def _many_writers(who: Any) -> tuple[int, bool]:
    from django.db import connection

    from accounts.audit import verify
    from accounts.principals import load_user_principal
    from accounts.tenancy import tenant
    from memory import services
    from memory.core.errors import QuotaExceeded
    from memory.models import Entry, Policy

    user, team = who
    with tenant([team.pk]):
        Policy.objects.unscoped().create(team=team, max_entries=LIMIT)
    caller = services.MemoryCaller(load_user_principal(user), team.pk)
    together = Barrier(WRITERS)

    def write(writer: int) -> None:
        together.wait()
        for number in range(EACH):
            with suppress(QuotaExceeded):
                services.remember(caller, namespace="global:x", key=f"{writer}-{number}", value=1)
        connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    with tenant([team.pk]):
        living = Entry.objects.unscoped().filter(namespace__text="global:x", deleted_at=None)
        stored = living.count()
    return stored, verify(team.pk).intact


_WHO = ("Mia", "Ben", "Ada", "Tom", "Zoë", "Kai", "Lena", "Omar")
_DID = ("visited", "painted", "repaired", "cooked for", "wrote about", "photographed", "missed")
_WHAT = (
    "the harbour",
    "an old bicycle",
    "her grandmother",
    "the lighthouse",
    "a stray cat",
    "the choir",
)
_WHEN = ("on Monday", "last winter", "in Lisbon", "before the exam", "with two friends", "at dawn")


def _sentence(number: int) -> str:
    n = abs(number)
    words = (_WHO[n % 8], _DID[n // 3 % 7], _WHAT[n // 5 % 6], _WHEN[n // 7 % 6])
    return f"{' '.join(words)}, and told everybody about it {n % 11} times."


def _question(number: int) -> str:
    return f"When did {_WHO[number % 8]} see {_WHAT[number % 6]}?"


def _milliseconds(act: Callable[[int], object], number: int) -> float:
    began = time.perf_counter()
    act(number)
    return (time.perf_counter() - began) * 1000


def _table(times: Times) -> None:
    sys.stdout.write(f"{'ms, at 500 entries':28}{'p50':>8}{'p99':>8}   p95 of{LATENCY_HEADS}\n")
    for what, rounds in times.items():
        every = [one for taken in rounds for one in taken]
        columns = "".join(f"{percentile(every, n):8.2f}" for n in (50, 99))
        sys.stdout.write(f"{what:28}{columns}{'':9}{latency(rounds, 95).line()}\n")


if __name__ == "__main__":
    sys.exit(main())
